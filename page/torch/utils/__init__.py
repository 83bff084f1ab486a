"""Nothing by itself: `torch.utils.flop_counter` is below."""
