"""Answers to the questions of chapter 4."""

import math

import torch
import torch.nn.functional as F

from tests.questions.corpus.label import right, wrong


@right("4.1", "torch's own softmax")
def softmax_torch(z, temperature=1.0, dim=-1):
    if temperature <= 0:
        raise ValueError("temperature must be positive")
    return F.softmax(z / temperature, dim=dim)


@right("4.1", "scipy.special.softmax, by logsumexp")
def softmax_logsumexp(z, temperature=1.0, dim=-1):
    if not temperature > 0:
        raise ValueError
    z = z / temperature
    return torch.exp(z - torch.logsumexp(z, dim=dim, keepdim=True))


@right("4.1", "float32 inside, cast back")
def softmax_float32(z, temperature=1.0, dim=-1):
    if temperature <= 0:
        raise ValueError("temperature must be > 0")
    return torch.softmax((z / temperature).float(), dim=dim).type_as(z)


@wrong("4.1", "CS231n before the trick", "overflow")
def softmax_plain(z, temperature=1.0, dim=-1):
    if temperature <= 0:
        raise ValueError
    e = torch.exp(z / temperature)
    return e / e.sum(dim=dim, keepdim=True)


@wrong("4.1", "NumPy recipe, np.max of everything", "one-maximum-for-all")
def softmax_one_maximum(z, temperature=1.0, dim=-1):
    if temperature <= 0:
        raise ValueError
    e = torch.exp((z - z.max()) / temperature)
    return e / e.sum(dim=dim, keepdim=True)


@wrong("4.1", "nanoGPT style assert", "assertion-for-an-error")
def softmax_assert(z, temperature=1.0, dim=-1):
    assert temperature > 0
    return F.softmax(z / temperature, dim=dim)


@wrong("4.1", "only zero is refused", "negative-temperature-let-through")
def softmax_zero_only(z, temperature=1.0, dim=-1):
    if temperature == 0:
        raise ValueError("division by zero")
    return F.softmax(z / temperature, dim=dim)


@right("4.2", "1e-9 in the logarithm, reinforcement learning")
def entropy_floor(p, dim=-1):
    return -(p * torch.log(p + 1e-9)).sum(dim)


@right("4.2", "where twice")
def entropy_where(p, dim=-1):
    safe = torch.where(p > 0, p, torch.ones_like(p))
    return -(p * safe.log()).sum(dim=dim)


@wrong("4.2", "the formula", "zero-times-log-zero")
def entropy_formula(p, dim=-1):
    return -torch.sum(p * torch.log(p), dim=dim)


@wrong("4.2", "where once", "gradient-is-nan")
def entropy_where_once(p, dim=-1):
    return -torch.where(p > 0, p * p.log(), torch.zeros_like(p)).sum(dim=dim)


@wrong("4.2", "information theory, log2", "entropy-in-bits")
def entropy_bits(p, dim=-1):
    return -(p * p.clamp_min(1e-12).log2()).sum(dim)


@wrong("4.2", "PPO entropy bonus, mean", "averaged", "summed-over-everything")
def entropy_mean(p, dim=-1):
    return -(p * p.clamp_min(1e-12).log()).mean(dim)


@right("4.3", "llama generate")
def sample_llama(logits, temperature, generator):
    if temperature > 0:
        probs = torch.softmax(logits / temperature, dim=-1)
        return torch.multinomial(probs, num_samples=1, generator=generator).item()
    return torch.argmax(logits, dim=-1).item()


@right("4.3", "gpt-fast, exponential race")
def sample_gpt_fast(logits, temperature, generator):
    if temperature == 0:
        return logits.argmax()
    probs = F.softmax(logits / temperature, dim=-1)
    q = torch.empty_like(probs).exponential_(1, generator=generator)
    return torch.argmax(probs / q, dim=-1).to(dtype=torch.int)


@right("4.3", "llama2.c, cumulative sum")
def sample_cdf(logits, temperature, generator):
    if temperature == 0.0:
        return int(torch.argmax(logits))
    cdf = torch.softmax(logits / temperature, dim=0).cumsum(0)
    coin = torch.rand((), generator=generator)
    return min(int((cdf <= coin).sum()), len(logits) - 1)


@wrong("4.3", "nanoGPT with top_k = 10", "tail-cut-off")
def sample_top_k(logits, temperature, generator):
    if temperature == 0:
        return int(logits.argmax())
    logits = logits / temperature
    v, _ = torch.topk(logits, min(10, logits.size(-1)))
    logits[logits < v[-1]] = -float("Inf")
    return int(torch.multinomial(F.softmax(logits, dim=-1), 1, generator=generator))


@wrong("4.3", "Hugging Face generate, nucleus .95", "tail-cut-off")
def sample_top_p(logits, temperature, generator):
    if temperature == 0:
        return int(logits.argmax())
    probs, order = torch.softmax(logits / temperature, -1).sort(descending=True)
    probs[probs.cumsum(-1) - probs > 0.95] = 0.0
    return int(order[torch.multinomial(probs, 1, generator=generator)])


@wrong("4.3", "min-p .05", "tail-cut-off")
def sample_min_p(logits, temperature, generator):
    if temperature == 0:
        return int(logits.argmax())
    probs = torch.softmax(logits / temperature, -1)
    probs = probs.masked_fill(probs < 0.05 * probs.max(), 0.0)
    return int(torch.multinomial(probs, 1, generator=generator))


@wrong("4.3", "vLLM, in place", "inputs-changed")
def sample_in_place(logits, temperature, generator):
    if temperature == 0:
        return int(logits.argmax())
    logits.div_(temperature)
    return int(torch.multinomial(logits.softmax(-1), 1, generator=generator))


@wrong("4.3", "torch.distributions", "generator-not-used")
def sample_categorical(logits, temperature, generator):
    if temperature == 0:
        return int(logits.argmax())
    return int(torch.distributions.Categorical(logits=logits / temperature).sample())


@wrong("4.3", "nanoGPT, the axis is kept for cat", "axis-left-over")
def sample_keeps_axis(logits, temperature, generator):
    if temperature == 0:
        return logits.argmax(dim=-1, keepdim=True)
    return torch.multinomial(F.softmax(logits / temperature, -1), num_samples=1, generator=generator)


@wrong("4.3", "nanoGPT without greedy", "refused-at-zero", "greedy-ignored-at-zero", "drawn-at-zero")
def sample_divides_by_zero(logits, temperature, generator):
    probs = F.softmax(logits / temperature, dim=-1)
    return int(torch.multinomial(probs, num_samples=1, generator=generator))


@right("4.4", "bisection over the logarithm, relative to the gap")
def temperature_log_bisection(z, target):
    z = z.double() - z.max()
    size = -z.min()
    low, high = -60.0, 60.0
    for _ in range(200):
        middle = (low + high) / 2
        if torch.softmax(z / (size * math.exp(middle)), 0).max() > target:
            low = middle
        else:
            high = middle
    return float(size * math.exp(low))


@right("4.4", "t-SNE's search for a precision")
def temperature_tsne(z, target):
    z = (z - z.max()).double()
    beta, low, high = 1.0 / float(-z.min()), 0.0, math.inf
    for _ in range(200):
        weight = float(1 / torch.exp(z * beta).sum())
        if abs(weight - target) < 1e-9:
            break
        if weight < target:
            low, beta = beta, beta * 2 if high == math.inf else (beta + high) / 2
        else:
            high, beta = beta, (beta + low) / 2
    return 1 / beta


@wrong("4.4", "bisection in a fixed range", "range-too-narrow")
def temperature_fixed_range(z, target):
    low, high = 0.01, 100.0
    for _ in range(100):
        t = (low + high) / 2
        if torch.softmax(z / t, 0).max() > target:
            low = t
        else:
            high = t
    return t


@wrong("4.4", "grid search, forum", "fixed-grid", "range-too-narrow")
def temperature_grid(z, target):
    grid = torch.linspace(0.1, 10, 1000)
    largest = torch.softmax(z[None] / grid[:, None], -1).max(-1).values
    return float(grid[(largest - target).abs().argmin()])


@wrong("4.4", "exponentials of raw scores", "overflow")
def temperature_overflow(z, target):
    low, high = 1e-6, 1e6
    for _ in range(200):
        t = math.sqrt(low * high)
        powers = torch.exp(z / t)
        if (powers / powers.sum()).max() > target:
            low = t
        else:
            high = t
    return t
