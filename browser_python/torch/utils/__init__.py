"""The package `torch.utils`. It is empty: the files beside this one hold the parts that the course needs."""
