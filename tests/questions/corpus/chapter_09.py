"""Answers to the questions of chapter 9."""

import torch

from tests.questions.corpus.label import right, wrong


@right("9.1", "a loop that looks back")
def induction_loop(weights, ids):
    found = []
    for i in range(len(ids)):
        earlier = (ids[:i] == ids[i]).nonzero().flatten()
        if len(earlier):
            found.append(weights[i, earlier[-1] + 1])
    return torch.stack(found).mean() if found else torch.zeros((), dtype=weights.dtype)


@wrong("9.1", "ARENA induction_attn_detector", "fixed-diagonal")
def induction_diagonal(weights, ids):
    seq_len = (len(ids) - 1) // 2
    return weights.diagonal(-seq_len + 1).mean()


@wrong("9.1", "list.index finds the first", "first-occurrence")
def induction_first(weights, ids):
    ids = ids.tolist()
    found = [weights[i, ids.index(t) + 1] for i, t in enumerate(ids) if t in ids[:i]]
    return torch.stack(found).mean() if found else weights.new_zeros(())


@wrong("9.1", "prefix matching over every occurrence", "every-occurrence")
def induction_every(weights, ids):
    found = []
    for i in range(len(ids)):
        earlier = [j + 1 for j in range(i) if ids[j] == ids[i]]
        if earlier:
            found.append(weights[i, earlier].sum())
    return torch.stack(found).mean() if found else weights.new_zeros(())


@right("9.2", "TransformerLens stack_head_results")
def heads_einsum(weights, v, w_o):
    z = torch.einsum("hqk,hkd->hqd", weights, v)
    return torch.einsum("hqd,hdm->hqm", z, w_o.view(v.shape[0], v.shape[2], -1))


@wrong("9.2", "summed, as the layer does", "heads-summed")
def heads_summed(weights, v, w_o):
    z = torch.einsum("hqk,hkd->hqd", weights, v)
    return torch.einsum("hqd,hdm->qm", z, w_o.view(v.shape[0], v.shape[2], -1))


@wrong("9.2", "d_head before heads", "rows-dealt-out")
def heads_dealt(weights, v, w_o):
    return weights @ v @ w_o.view(v.shape[2], v.shape[0], -1).transpose(0, 1)


@right("9.3", "TransformerLens patching hook")
def patch_hook(run, clean, corrupt, layer, position):
    _, cache = run(clean)

    def hook(index, resid):
        if index == layer:
            resid = resid.clone()
            resid[position, :] = cache[layer][position, :]
        return resid

    logits, _ = run(corrupt, hook)
    return logits


@wrong("9.3", "TransformerLens, in place", "written-into-the-state")
def patch_in_place(run, clean, corrupt, layer, position):
    cache = run(clean)[1]

    def hook(index, resid):
        if index == layer:
            resid[position] = cache[layer][position]
        return resid

    return run(corrupt, hook)[0]


@wrong("9.3", "denoising and noising exchanged", "texts-swapped")
def patch_swapped(run, clean, corrupt, layer, position):
    return patch_hook(run, corrupt, clean, layer, position)
