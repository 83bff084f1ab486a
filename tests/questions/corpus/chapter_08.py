"""Answers to the questions of chapter 8."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.questions.corpus.label import right, wrong


@right("8.1", "LLMs-from-scratch LayerNorm")
def norm_from_scratch(x, gain, bias, eps=1e-5):
    mean = x.mean(dim=-1, keepdim=True)
    var = x.var(dim=-1, keepdim=True, unbiased=False)
    return gain * ((x - mean) / torch.sqrt(var + eps)) + bias


@right("8.1", "float32 inside, T5 and Llama style")
def norm_float32(x, gain, bias, eps=1e-5):
    h = x.to(torch.float32)
    h = h - h.mean(-1, keepdim=True)
    h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + eps)
    return gain * h.to(x.dtype) + bias


@wrong("8.1", "The Annotated Transformer", "eps-outside-and-sample-variance")
def norm_annotated(x, gain, bias, eps=1e-6):
    mean = x.mean(-1, keepdim=True)
    std = x.std(-1, keepdim=True)
    return gain * (x - mean) / (std + eps) + bias


@wrong("8.1", "Llama RMSNorm", "root-mean-square", "mean-not-subtracted")
def norm_rms(x, gain, bias, eps=1e-5):
    return gain * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)) + bias


@wrong("8.1", "torch.var is the sample variance", "sample-variance")
def norm_sample(x, gain, bias, eps=1e-5):
    return (x - x.mean(-1, keepdim=True)) / torch.sqrt(x.var(-1, keepdim=True) + eps) * gain + bias


@wrong("8.1", "nanoGPT, 1e-5 in the call", "eps-ignored")
def norm_nanogpt(x, gain, bias, eps=1e-5):
    return F.layer_norm(x, gain.shape, gain, bias, 1e-5)


@wrong("8.1", "no eps at all", "eps-ignored")
def norm_no_eps(x, gain, bias, eps=1e-5):
    centred = x - x.mean(-1, keepdim=True)
    return centred / centred.square().mean(-1, keepdim=True).sqrt() * gain + bias


@right("8.2", "nanoGPT Block")
def block_nanogpt(x, norm_1, attend, norm_2, feed_forward):
    x = x + attend(norm_1(x))
    x = x + feed_forward(norm_2(x))
    return x


@wrong("8.2", "the 2017 paper, post-norm", "norm-after-the-sum")
def block_post(x, norm_1, attend, norm_2, feed_forward):
    x = norm_1(x + attend(x))
    return norm_2(x + feed_forward(x))


@wrong("8.2", "GPT-J and PaLM, in parallel", "halves-side-by-side")
def block_parallel(x, norm_1, attend, norm_2, feed_forward):
    return x + attend(norm_1(x)) + feed_forward(norm_2(x))


@wrong("8.2", "in place, to save memory", "inputs-changed")
def block_in_place(x, norm_1, attend, norm_2, feed_forward):
    x += attend(norm_1(x))
    x += feed_forward(norm_2(x))
    return x


@right("8.3", "Hugging Face causal LM loss")
def loss_hugging_face(logits, ids):
    shift_logits = logits[..., :-1, :].contiguous().float()
    shift_labels = ids[..., 1:].contiguous()
    return nn.CrossEntropyLoss()(shift_logits.view(-1, shift_logits.size(-1)), shift_labels.view(-1))


@right("8.3", "gather, TransformerLens lm_cross_entropy_loss")
def loss_gather(logits, ids):
    log_probs = F.log_softmax(logits, dim=-1)
    return -log_probs[..., :-1, :].gather(dim=-1, index=ids[..., 1:, None])[..., 0].mean()


@wrong("8.3", "nanoGPT, targets already shifted", "not-shifted")
def loss_nanogpt(logits, ids):
    return F.cross_entropy(logits.view(-1, logits.size(-1)), ids.view(-1), ignore_index=-1)


@wrong("8.3", "translation code, 0 is padding", "id-zero-left-out")
def loss_ignore_zero(logits, ids):
    return F.cross_entropy(logits[:, :-1].transpose(1, 2), ids[:, 1:], ignore_index=0)


@wrong("8.3", "label smoothing .1, the 2017 paper", "label-smoothing")
def loss_smoothed(logits, ids):
    return F.cross_entropy(logits[:, :-1].transpose(1, 2), ids[:, 1:], label_smoothing=0.1)


@wrong("8.3", "softmax before CrossEntropyLoss", "softmax-twice")
def loss_softmax_first(logits, ids):
    return F.cross_entropy(logits.softmax(-1)[:, :-1].transpose(1, 2), ids[:, 1:])


@wrong("8.3", "NLLLoss of probabilities", "probability-for-surprise")
def loss_nll(logits, ids):
    return F.nll_loss(logits.softmax(-1)[:, :-1].transpose(1, 2), ids[:, 1:])


@wrong("8.3", "classes last", "classes-on-another-axis")
def loss_classes_last(logits, ids):
    return F.cross_entropy(logits[:, :-1], ids[:, 1:])


@right("8.4", "counted from modules")
def parameters_counted(vocab, d_model, layers, d_hidden, tied=True):
    with torch.device("meta"):
        block = nn.TransformerEncoderLayer(d_model, 1, d_hidden)
        n = layers * sum(p.numel() for p in block.parameters())
    return n + 2 * d_model + vocab * d_model * (1 if tied else 2)


@wrong("8.4", "12 L d², the rule of thumb", "twelve-squares")
def parameters_rule_of_thumb(vocab, d_model, layers, d_hidden, tied=True):
    return 12 * layers * d_model**2 + vocab * d_model


@wrong("8.4", "nanoGPT with bias=False", "all-biases-forgotten")
def parameters_no_bias(vocab, d_model, layers, d_hidden, tied=True):
    per_layer = 4 * d_model**2 + 2 * d_model * d_hidden + 2 * d_model
    return vocab * d_model * (1 if tied else 2) + layers * per_layer + d_model
