"""Operations in the graph of gradients have torch's names: `grad_fn=<MulBackward0>`."""

from __future__ import annotations

from types import ModuleType

import pytest
import torch

from browser_python import torch as page_torch

MADE = """
torch.manual_seed(0)
x, y, v = torch.rand(2, 3), torch.rand(2, 3), torch.rand(3)
a, b, c = torch.rand(2, 4, 3), torch.rand(2, 3, 5), torch.rand(1, 3, 4)
for t in (x, y, v, a, b, c):
    t.requires_grad_()
"""
EXPRESSIONS = """
x + 1
1 + x
x + y
x - y
1 - x
x - 1
x * 2
x * y
x / 2
x / y
1 / x
-x
x ** 2
x ** y
2 ** x
x % 2
x @ y.T
x.type_as(torch.ones(1, dtype=torch.float64))
x @ y.mT
a @ b
x @ v
v @ v
v @ y.T
a @ y.T
torch.matmul(x, y.T)
torch.ones(1, 3, requires_grad=True) @ torch.ones(2, 3, 4)
torch.ones(2, 3, requires_grad=True) @ torch.ones(2, 3, 4)
torch.ones(1, 3, 3, requires_grad=True) @ torch.ones(3, 3, 1)
torch.ones(1, 3, 3, requires_grad=True) @ torch.ones(3, 3, 2)
torch.ones(1, 3, 3, requires_grad=True) @ torch.ones(1, 3, 2)
torch.ones(1, 3, 3) @ torch.ones(3, 3, 2, requires_grad=True)
torch.mm(x, y.T)
torch.bmm(a, b)
torch.dot(v, v)
torch.outer(v, v)
torch.einsum("ij,kj->ik", x, y)
torch.einsum("bij,bjk->bik", a, b)
torch.einsum("ij,ij->i", x, y)
x.sum()
x.sum(0)
x.sum(-1, keepdim=True)
x.mean()
x.mean(0)
x.mean(-1, keepdim=True)
x.prod()
x.prod(0)
x.max()
x.max(0)[0]
x.max(dim=1).values
x.min()
x.min(0)[0]
x.amax(-1)
x.amin(0)
x.std()
x.std(0)
x.var()
x.var(-1, unbiased=False)
x.norm()
x.norm(dim=-1)
torch.linalg.norm(x)
torch.norm(x)
x.median()
x.logsumexp(-1)
x.cumsum(0)
x.cumprod(0)
x.softmax(-1)
torch.softmax(x, -1)
F.softmax(x, dim=-1)
F.log_softmax(x, -1)
x.log_softmax(-1)
x.exp()
x.log()
x.log1p()
x.expm1()
x.sqrt()
x.rsqrt()
x.square()
x.reciprocal()
x.abs()
x.sin()
x.cos()
x.tan()
x.tanh()
x.sigmoid()
x.relu()
F.relu(x)
F.gelu(x)
F.silu(x)
F.leaky_relu(x)
F.elu(x)
F.tanh(x)
x.erf()
x.clamp(0, 1)
x.clamp(min=0)
x.round()
x.floor()
x.sign()
x.neg()
x.pow(2)
x.pow(0.5)
x.maximum(y)
torch.minimum(x, y)
torch.where(x > 0, x, y)
torch.where(x > 0, x, 0.0)
x.masked_fill(x > 0, 0.0)
x.tril()
x.triu()
x.T
x.t()
x.mT
a.transpose(0, 1)
x.permute(1, 0)
a.permute(2, 0, 1)
x.view(-1)
x.view(3, 2)
x.reshape(-1)
x.T.reshape(-1)
x.flatten()
(x * 2).flatten(1)
a.flatten(1)
x.unsqueeze(0)
x[None]
x.unsqueeze(0).squeeze(0)
x.unsqueeze(0).squeeze()
x.expand(2, 2, 3)
x.repeat(2, 1)
x.repeat_interleave(2, dim=0)
x.repeat_interleave(2)
x[0]
x[:, 0]
x[0, 1]
x[:, :2]
x[..., 0]
x[..., :2]
x[:, None]
x[[0, 1]]
x[torch.tensor([0, 1])]
x[x > 0]
x[:]
x[...]
x.select(0, 0)
x.narrow(0, 0, 1)
x.gather(1, torch.tensor([[0], [1]]))
x.index_select(0, torch.tensor([0]))
x.chunk(2, 0)[0]
x.split(1)[0]
x.unbind()[0]
torch.cat([x, y])
torch.stack([x, y])
torch.vstack([x, y])
x.flip(0)
x.roll(1)
x.roll(1, 0)
x.diag()
x.diagonal()
x.trace()
x.clone()
x.contiguous()
x.T.contiguous()
x.double()
x.float()
x.to(torch.float64)
x.half()
x.sort()[0]
x.topk(2)[0]
F.layer_norm(x, (3,))
F.normalize(x, dim=-1)
F.cosine_similarity(x, y, dim=-1)
F.mse_loss(x, y)
F.cross_entropy(x, torch.tensor([0, 1]))
F.nll_loss(x, torch.tensor([0, 1]))
F.linear(x, y)
F.linear(x, y, torch.ones(2))
F.linear(a, y)
F.linear(a, y, torch.ones(2))
F.linear(v, y)
F.linear(v, y, torch.ones(2))
F.embedding(torch.tensor([0, 1]), x)
F.dropout(x, 0.5)
F.pad(x, (1, 1))
F.scaled_dot_product_attention(a, a, a)
F.scaled_dot_product_attention(a, a, a, is_causal=True)
nn.Linear(3, 2)(x)
nn.Linear(3, 2)(a)
nn.Linear(3, 2, bias=False)(x)
nn.LayerNorm(3)(x)
nn.Embedding(3, 2)(torch.tensor([1]))
nn.Dropout(0.5)(x)
nn.ReLU()(x)
nn.GELU()(x)
nn.Softmax(dim=-1)(x)
nn.MultiheadAttention(4, 2, batch_first=True)(c, c, c)[1]
nn.CrossEntropyLoss()(x, torch.tensor([0, 1]))
torch.addmm(x, x, x.T @ x)
torch.lerp(x, y, 0.5)
torch.logaddexp(x, y)
torch.add(x, y)
torch.mul(x, 2)
torch.div(x, y)
torch.sub(x, y)
torch.sum(x)
torch.mean(x, dim=0)
torch.exp(x)
torch.transpose(x, 0, 1)
torch.reshape(x, (3, 2))
torch.squeeze(x)
torch.broadcast_to(x, (2, 2, 3))
torch.var_mean(x)[0]
x.scatter(0, torch.tensor([[0]]), 1.0)
x.masked_select(x > 0)
x.nan_to_num()
x.dist(y)
torch.cdist(x, y)
x.swapaxes(0, 1)
x.movedim(0, 1)
x.unfold(0, 2, 1)
x.view_as(y)
x.expand_as(a[:2, :, :3][:, :2])
x.mv(v)
x.type(torch.float64)
x.bfloat16()
x.std(-1, correction=0)
x.log2()
x.log10()
x.exp2()
x.atan()
x.sinh()
x.cosh()
x.remainder(2)
x.ceil()
x.trunc()
x.tile(2)
torch.fmod(x, 2)
torch.hypot(x, y)
torch.atan2(x, y)
x.asin()
x.asinh()
(x + 3).acosh()
x.atanh()
x.erfc()
torch.rot90(x)
torch.rot90(x, 2)
torch.cartesian_prod(v, v)
(x * 1).unsqueeze_(0)
(x * 1).squeeze_()
(x * 1).t_()
(x * 1).transpose_(0, 1)
torch.std_mean(x)[0]
torch.std_mean(x)[1]
torch.var_mean(x)[1]
x.aminmax()[0]
x.aminmax(dim=0)[1]
x.median(0)[0]
x.kthvalue(1)[0]
x.cummax(0)[0]
x.cummin(0)[0]
x.quantile(0.5)
x.quantile(0.5, 0)
x.quantile(torch.tensor([0.5, 0.2]), 1)
x.quantile(torch.tensor([0.5, 0.2]), 1, True)
x.quantile(0.5, 1, True)
torch.quantile(x, 0.5, interpolation="nearest")
torch.cov(x)
torch.cov(x[0])
torch.corrcoef(x)
torch.corrcoef(x[0])
torch.corrcoef(x[:1])
torch.linalg.det(x[:, :2])
torch.linalg.svdvals(x)
torch.linalg.svd(x).S
torch.linalg.eigvalsh(x @ x.T)
torch.linalg.eigh(x @ x.T).eigenvalues
torch.linalg.qr(x).R
torch.linalg.qr(x).Q
torch.pinverse(x)
torch.linalg.pinv(x)
torch.linalg.matrix_norm(x)
torch.linalg.matrix_norm(x, 1)
torch.linalg.matrix_norm(x, 2)
torch.linalg.matrix_norm(x, "nuc")
torch.linalg.cholesky(x @ x.T + torch.eye(2))
torch.linalg.inv(x[:, :2])
torch.linalg.solve(x[:, :2], x[:, 0])
F.softplus(x)
F.logsigmoid(x)
F.hardtanh(x)
F.relu6(x)
F.selu(x)
F.mish(x)
F.softsign(x)
F.softmin(x, -1)
F.prelu(x, v[:1])
F.glu(c)
F.rms_norm(x, (3,))
F.rms_norm(x, (3,), v)
F.batch_norm(a, None, None, training=True)
F.l1_loss(x, y)
F.l1_loss(x, y, reduction="sum")
F.l1_loss(x, y, reduction="none")
F.mse_loss(x, y, reduction="none")
F.mse_loss(x, y, reduction="sum")
F.smooth_l1_loss(x, y)
F.smooth_l1_loss(x, y, reduction="none")
F.smooth_l1_loss(x, y, beta=0.0)
F.huber_loss(x, y)
F.huber_loss(x, y, reduction="sum")
F.binary_cross_entropy(x.sigmoid(), y.sigmoid().detach())
F.binary_cross_entropy(x.sigmoid(), y.sigmoid().detach(), reduction="none")
F.binary_cross_entropy_with_logits(x, y.sigmoid().detach())
F.binary_cross_entropy_with_logits(x, y.sigmoid().detach(), reduction="sum")
F.binary_cross_entropy_with_logits(x, y.sigmoid().detach(), pos_weight=v.detach())
F.kl_div(F.log_softmax(x, -1), y.softmax(-1).detach())
F.kl_div(F.log_softmax(x, -1), y.softmax(-1).detach(), reduction="batchmean")
F.kl_div(F.log_softmax(x, -1), y.softmax(-1).detach(), reduction="sum")
F.kl_div(F.log_softmax(x, -1), y.softmax(-1).detach(), reduction="none")
F.nll_loss(F.log_softmax(x, -1), torch.tensor([0, 1]), reduction="none")
F.cross_entropy(x, torch.tensor([0, 1]), reduction="none")
F.cross_entropy(x, y.softmax(-1).detach())
F.cross_entropy(x, torch.tensor([0, 1]), label_smoothing=0.1)
F.avg_pool1d(a, 2)
F.avg_pool1d(x, 2)
F.max_pool1d(a, 2)
F.max_pool1d(x, 2)
F.avg_pool2d(a, 2)
F.avg_pool2d(a[None], 2)
F.max_pool2d(a, 2)
F.max_pool2d(a[None], 2)
F.adaptive_max_pool2d(a[None], 2)
F.adaptive_max_pool1d(a, 2)
a.unique()
F.conv2d(a[None], torch.ones(1, 2, 2, 2))
F.conv2d(a, torch.ones(1, 2, 2, 2))
F.interpolate(a, scale_factor=2)
F.interpolate(a[None], scale_factor=2)
F.interpolate(a[None, None], scale_factor=2)
nn.SiLU()(x)
nn.Tanh()(x)
nn.Sigmoid()(x)
nn.Softplus()(x)
nn.LeakyReLU()(x)
nn.ELU()(x)
nn.ReLU6()(x)
nn.LogSoftmax(-1)(x)
nn.RMSNorm(3)(x)
nn.RMSNorm(3, elementwise_affine=False)(x)
nn.BatchNorm1d(3)(x)
nn.PReLU()(x)
nn.Conv2d(2, 2, 2)(a[None])
nn.AvgPool1d(2)(a)
nn.MaxPool1d(2)(a)
nn.Flatten()(a)
nn.Unflatten(1, (3, 1))(x)
nn.MSELoss()(x, y)
nn.L1Loss()(x, y)
nn.BCEWithLogitsLoss()(x, y.sigmoid().detach())
nn.BCELoss()(x.sigmoid(), y.sigmoid().detach())
nn.HuberLoss()(x, y)
nn.SmoothL1Loss()(x, y)
nn.KLDivLoss(reduction="batchmean")(F.log_softmax(x, -1), y.softmax(-1).detach())
nn.NLLLoss()(F.log_softmax(x, -1), torch.tensor([0, 1]))
nn.CosineSimilarity()(x, y)
nn.TransformerEncoderLayer(4, 2, 8, 0.0)(c)
nn.TransformerEncoderLayer(4, 2, 8, 0.0, norm_first=True)(c)
nn.Identity()(x * 2)
F.cross_entropy(x, y.softmax(-1).detach(), reduction="sum")
F.cross_entropy(x, y.softmax(-1).detach(), reduction="none")
(x * 1)[None].squeeze_(0)
(x * 1)[None].squeeze_((0,))
F.conv1d(a, torch.ones(1, 4, 2))
F.conv1d(a[0], torch.ones(1, 4, 2))
torch.linalg.norm(x, 1)
torch.linalg.norm(x, 1, dim=0)
torch.linalg.norm(v, 1)
nn.GroupNorm(2, 4)(a)
nn.BatchNorm1d(4)(a)
nn.Conv1d(4, 2, 2)(a)
nn.BatchNorm1d(4)(a[:, :, 0])
F.kl_div(F.log_softmax(x, -1), y.log_softmax(-1).detach(), reduction="none", log_target=True)
x[:2]
x[0:5]
x[:, :3]
x[:, 0:]
x[:2, :3]
x[:, :1]
x[0:2, ...]
x[..., :3]
x[:2, 0]
x[None, :2]
x[:2, None]
x[-2:]
x[:, -3:]
x[::2]
a[..., :4, :]
a[..., None, :3]
a[x.new_ones(2, 4).bool(), :3]
a[:, torch.tensor([1]), :3]
x[True]
""".strip().splitlines()


def name_of(expression: str, library: ModuleType) -> str:
    names = {"torch": library, "nn": library.nn, "F": library.nn.functional}
    exec(MADE, names)
    node = eval(expression, names).grad_fn
    return node.name() if node is not None else ""


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_each_operation_has_its_name():
    found = {one: (name_of(one, torch), name_of(one, page_torch)) for one in EXPRESSIONS}
    assert {one: names for one, names in found.items() if names[0] != names[1]} == {}


def test_a_printed_operation_shows_its_name():
    for library in (torch, page_torch):
        x = library.ones(1, requires_grad=True)
        assert repr((x * 2).grad_fn).startswith("<MulBackward0 object at 0x")
        assert str(x * 2) == "tensor([2.], grad_fn=<MulBackward0>)"
