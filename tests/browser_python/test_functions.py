"""Functions, layers and optimizers of tutorials give on the page's torch what they give with torch, gradients included."""

# ruff: noqa: E501 (each line is a program)

from __future__ import annotations

import pytest

from tests.browser_python.both import differences
from tests.browser_python.test_torch import programs

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")

OF_TWO_TENSORS = """
torch.fmod(x, 0.4), torch.fmod(x, -x), torch.fmod(torch.arange(-4, 4), 3), torch.fmod(torch.arange(-4, 4), torch.tensor(-3))
torch.fmod(torch.tensor([1]), 0)
torch.fmod(x, 0.0), x.fmod(math.inf), torch.fmod(torch.tensor(math.inf), 1), torch.fmod(torch.arange(3), 1.5)
torch.fmod(torch.tensor([True]), True)
torch.hypot(x, x[0])
torch.hypot(torch.arange(3), torch.arange(3))
torch.atan2(x, -x), torch.atan2(torch.arange(3), torch.arange(3)), torch.atan2(x, x * 0)
torch.heaviside(x, torch.tensor(0.5)), torch.heaviside(torch.tensor([0.0, -1, 1, math.nan]), torch.tensor(0.5))
torch.heaviside(x, torch.tensor(1))
torch.heaviside(torch.arange(3), torch.tensor(5))
torch.asin(x), torch.asinh(x), torch.acosh(x), torch.atanh(x / 1.3), torch.erfc(x), torch.atanh(torch.tensor([1.0, -1, 2]))
torch.tensor(1.0).flatten(1)
torch.tensor([True]).round()
torch.empty(5, dtype=torch.bfloat16).uniform_(-1, 1), torch.empty(5, dtype=torch.float16).uniform_(), torch.rand(3, dtype=torch.float16)
torch.cartesian_prod(torch.arange(2), torch.arange(3)), torch.cartesian_prod(torch.arange(2)), torch.cartesian_prod(torch.arange(2), torch.ones(2))
torch.cartesian_prod(x)
torch.cartesian_prod(torch.arange(2.0), torch.arange(3), torch.arange(1))
torch.rot90(x), torch.rot90(x, 2), torch.rot90(x, -1, [1, 2]), x.rot90(3).stride(), torch.rot90(x).stride(), x.rot90(0)
torch.rot90(x[0, 0])
torch.rot90(x, 1, [1])
x.unsqueeze_(0), x.unsqueeze_(-1).shape, x.stride(), x.squeeze_().shape
x[0].t_(), x.transpose_(0, 2).stride(), x, x.swapaxes_(0, 1).shape
y = x[0]; y.t_(); y += 1; x
w = nn.Parameter(x); w.unsqueeze_(0)
x.requires_grad_(); torch.heaviside(x, torch.tensor(0.5)).requires_grad
x.requires_grad_(); torch.fmod(5 - x, x).sum().backward(); x.grad
x.requires_grad_(); torch.hypot(x, x * 2).sum().backward(); x.grad
x.requires_grad_(); torch.hypot(x * 0, x * 0).sum().backward(); x.grad
x.requires_grad_(); torch.atan2(x, x * x).sum().backward(); x.grad
x.requires_grad_(); torch.atan2(x * 0, x * 0).sum().backward(); x.grad
x.requires_grad_(); (torch.asin(x / 3) + torch.asinh(x) + torch.acosh(x + 4) + torch.atanh(x / 4) + x.erfc()).sum().backward(); x.grad
x.requires_grad_(); h = x * 2; h.unsqueeze_(0); (h ** 2).sum().backward(); x.grad
x.requires_grad_(); h = x * 2; h.transpose_(0, 1); h.mul_(torch.arange(3.0)[:, None, None]); h.sum().backward(); x.grad
x.requires_grad_(); h = x * 2; y = h.exp(); y.unsqueeze_(0); y.sum().backward(); x.grad
w = torch.ones(3, requires_grad=True); y = x[:1, :1, :3]; y.squeeze_(); y.mul_(w); x.sum().backward(); w.grad
"""

FUNCTIONS = """
F.softplus(x), F.softplus(x, 2.0), F.softplus(x * 100), F.softplus(x, 0.5, 0.2)
F.softplus(torch.arange(3))
F.logsigmoid(x), F.logsigmoid(x * 100), F.hardtanh(x), F.hardtanh(x, -0.5, 1.5), F.relu6(x * 5), F.selu(x), F.mish(x), F.softsign(x)
F.softmin(x, 1), F.glu(x), F.glu(x, 0), F.prelu(x, torch.tensor([0.2])), F.prelu(x, torch.tensor([0.2, 0.3, 0.4]))
F.glu(x, 1)
F.prelu(x, torch.tensor([0.2, 0.3]))
x.requires_grad_(); (F.softplus(x) + F.softplus(x * 30, 2) + F.logsigmoid(x) + F.hardtanh(x) + F.relu6(x) + F.selu(x) + F.mish(x) + F.softsign(x)).sum().backward(); x.grad
x.requires_grad_(); (F.softmin(x, 1) ** 2).sum().backward(); (F.glu(x) ** 2).sum().backward(); x.grad
x.requires_grad_(); w = torch.tensor([0.2, 0.3, 0.4], requires_grad=True); (F.prelu(x, w) ** 2).sum().backward(); x.grad, w.grad
x = torch.tensor([-1.0, 1, 0, 6], requires_grad=True); (F.hardtanh(x) + F.relu6(x)).sum().backward(); x.grad
F.rms_norm(x, (4,)), F.rms_norm(x, (3, 4), eps=0.1), F.rms_norm(x, [4], torch.arange(4.0)), F.rms_norm(x.double(), (4,))
F.rms_norm(x, (3,))
F.group_norm(x.reshape(2, 4, 3), 2), F.group_norm(x.reshape(2, 4, 3), 4, torch.arange(4.0), torch.ones(4))
x.requires_grad_(); (F.rms_norm(x, (4,)) ** 3).sum().backward(); (F.group_norm(x.reshape(2, 4, 3), 2) ** 3).sum().backward(); x.grad
m, v = torch.zeros(3), torch.ones(3); x.requires_grad_(); (F.batch_norm(x, m, v, training=True) ** 3).sum().backward(); x.grad, m, v
F.batch_norm(x, torch.zeros(3), torch.ones(3)), F.batch_norm(x[:, :, 0], None, None, torch.arange(3.0), torch.ones(3), True)
F.l1_loss(x, x + 1), F.l1_loss(x, x * 2, reduction="sum"), F.l1_loss(x, x * 2, reduction="none"), F.mse_loss(x, x[0])
F.smooth_l1_loss(x, x * 3), F.smooth_l1_loss(x, x * 3, beta=0.5), F.smooth_l1_loss(x, x * 3, beta=0.0), F.smooth_l1_loss(x, x, reduction="none")
F.smooth_l1_loss(x, x, beta=-1.0)
F.huber_loss(x, x * 3), F.huber_loss(x, x * 3, "sum", 0.4), F.huber_loss(x, x[0] * 4, "none")
F.huber_loss(x, x, delta=0.0)
F.binary_cross_entropy(x.sigmoid(), (x > 0).float()), F.binary_cross_entropy(torch.tensor([0.0, 1.0, 1.0]), torch.tensor([0.0, 0.0, 0.5]), reduction="none")
F.binary_cross_entropy(x, x)
F.binary_cross_entropy(x.sigmoid(), x[0])
F.binary_cross_entropy(x.sigmoid(), x.sigmoid(), weight=torch.arange(4.0))
F.binary_cross_entropy_with_logits(x, (x > 0).float()), F.binary_cross_entropy_with_logits(x * 100, x.sigmoid(), pos_weight=torch.arange(4.0), reduction="none")
F.binary_cross_entropy_with_logits(x, x.sigmoid(), x.abs(), reduction="sum")
F.binary_cross_entropy_with_logits(x, x[0])
x.requires_grad_(); (F.l1_loss(x, x.detach() * 2) + F.smooth_l1_loss(x, x.detach() * 3, beta=0.5) + F.huber_loss(x, -x.detach(), delta=0.4)).backward(); x.grad
x.requires_grad_(); t = (x > 0).float().requires_grad_(); F.binary_cross_entropy(x.sigmoid(), t).backward(); F.binary_cross_entropy_with_logits(x, t, pos_weight=torch.arange(4.0)).backward(); x.grad, t.grad
F.avg_pool1d(x, 2), F.avg_pool1d(x, 3, 1, 1), F.avg_pool1d(x[0], (2,)), F.max_pool1d(x, 2), F.max_pool1d(x, 3, 1, 1), F.max_pool1d(x, 2, dilation=2), F.avg_pool2d(x, 2), F.max_pool2d(x, (2, 3), 1)
x.requires_grad_(); (F.avg_pool1d(x, 3, 1, 1) ** 2).sum().backward(); (F.max_pool1d(x * x, 3, 1, 1) ** 2).sum().backward(); x.grad
x.requires_grad_(); F.max_pool1d(x * 0, 2).sum().backward(); x.grad
F.conv1d(x, torch.arange(12.0).reshape(2, 3, 2)), F.conv1d(x[0], torch.ones(1, 3, 2), torch.ones(1)), F.conv1d(x, torch.ones(2, 3, 2), None, 2, 1), F.conv1d(x, torch.ones(2, 3, 2), dilation=2)
F.conv1d(x, torch.arange(6.0).reshape(3, 1, 2), groups=3), F.conv1d(x, torch.ones(2, 3, 1)).stride()
F.conv1d(x, torch.ones(1, 2, 2))
F.conv1d(x, torch.ones(1, 3, 5))
F.conv1d(x[0, 0], torch.ones(1, 3, 2))
F.conv2d(x[:, None], torch.arange(12.0).reshape(2, 1, 2, 3)), F.conv2d(x, torch.ones(2, 2, 2, 2), padding=1, stride=(1, 2))
x.requires_grad_(); w = torch.arange(12.0).reshape(2, 3, 2).requires_grad_(); b = torch.ones(2, requires_grad=True); (F.conv1d(x, w, b, 2, 1) ** 2).sum().backward(); x.grad, w.grad, b.grad
F.interpolate(x, scale_factor=2), F.interpolate(x, size=6), F.interpolate(x[None], (2, 6)), F.interpolate(x, 3)
F.interpolate(x)
x.requires_grad_(); (F.interpolate(x, scale_factor=2) ** 2).sum().backward(); x.grad
"""

LAYERS = """
[str(m) for m in (nn.Softmax(-1), nn.Softmax(), nn.LogSoftmax(-1), nn.Softmin(0), nn.GLU(), nn.GELU(), nn.GELU("tanh"), nn.ReLU(), nn.ReLU(True), nn.ReLU6(inplace=True), nn.SiLU(), nn.SELU(), nn.Mish(), nn.Tanh(), nn.Sigmoid())]
[str(m) for m in (nn.LogSigmoid(), nn.Softsign(), nn.LeakyReLU(), nn.LeakyReLU(0.2, True), nn.ELU(), nn.Softplus(), nn.Softplus(2.0), nn.Hardtanh(), nn.Hardtanh(-2, 2), nn.CosineSimilarity(), nn.PReLU(), nn.PReLU(4), nn.Identity(3), nn.Flatten(), nn.Unflatten(1, (2, 2)))]
[str(m) for m in (nn.MaxPool1d(2), nn.MaxPool1d(3, 1, 1), nn.MaxPool2d(2), nn.MaxPool2d((2, 3)), nn.AvgPool1d(2), nn.AvgPool1d(3, 1, 1), nn.AvgPool2d(2), nn.AvgPool2d((2, 3), 1))]
[str(m) for m in (nn.MSELoss(), nn.L1Loss(), nn.SmoothL1Loss(beta=0.5), nn.HuberLoss(), nn.KLDivLoss(reduction="batchmean"), nn.BCELoss(), nn.BCEWithLogitsLoss(), nn.NLLLoss(), nn.CrossEntropyLoss())]
[str(m) for m in (nn.RMSNorm(8), nn.RMSNorm((2, 8), 1e-6, False), nn.GroupNorm(2, 4), nn.BatchNorm1d(4), nn.Conv1d(4, 2, 3), nn.Conv1d(4, 2, 3, padding=1, bias=False, dilation=2, groups=2), nn.Conv2d(1, 2, 3), nn.Conv2d(1, 2, (3, 2), 2, 1))]
nn.Softmax(1)(x), nn.LogSoftmax(-1)(x), nn.Softmin(0)(x), nn.GLU()(x), nn.SiLU()(x), nn.ReLU6()(x * 4), nn.SELU()(x), nn.Mish()(x), nn.Tanh()(x), nn.Sigmoid()(x), nn.LogSigmoid()(x), nn.Softsign()(x)
nn.LeakyReLU(0.2)(x), nn.ELU(0.5)(x), nn.Softplus()(x), nn.Hardtanh(-2, 2)(x), nn.CosineSimilarity(-1)(x, x + 1), nn.PReLU()(x), nn.Flatten()(x), nn.Flatten(0, 1)(x), nn.Unflatten(-1, (2, 2))(x), nn.Unflatten(2, (2, -1))(x)
nn.MaxPool1d(2)(x), nn.MaxPool1d(3, 1, 1)(x), nn.MaxPool2d(2)(x), nn.AvgPool1d(2)(x), nn.AvgPool1d(3, 1, 1)(x), nn.AvgPool2d((2, 3), 1)(x)
nn.MSELoss()(x, x * 2), nn.L1Loss(reduction="sum")(x, x * 2), nn.SmoothL1Loss(beta=0.5)(x, x * 3), nn.HuberLoss(delta=0.5)(x, x * 3), nn.KLDivLoss(reduction="batchmean")(x.log_softmax(-1), x.softmax(-1)), nn.BCELoss()(x.sigmoid(), x.sigmoid()), nn.BCEWithLogitsLoss(pos_weight=torch.tensor(3.0))(x, x.sigmoid()), nn.NLLLoss()(x[0], torch.tensor([0, 1, 3])), nn.CrossEntropyLoss(label_smoothing=0.1)(x[0], torch.tensor([0, 1, 3]))
nn.RMSNorm(4)(x), nn.GroupNorm(3, 3)(x), list(nn.Conv1d(3, 2, 3).parameters()), nn.Conv1d(3, 2, 3, padding=1)(x), nn.Conv1d(3, 3, 2, groups=3)(x), nn.Conv2d(2, 2, 2)(x[None]), list(nn.Conv2d(4, 2, (1, 3), bias=False).parameters())
m = nn.BatchNorm1d(3); y = m(x); m.eval(); y, m(x), m.running_mean, m.running_var, m.num_batches_tracked, list(m.state_dict()), m(x[:, :, 0])
nn.BatchNorm1d(4)(x)
nn.BatchNorm1d(4)(x[0, 0])
nn.PReLU(2)(x)
nn.Softmax(1, 2, 3)
nn.Tanh(3)
nn.MaxPool1d()
nn.ReLU(nonsense=True)
nn.Conv1d(3, 2, 3, groups=2)
nn.GroupNorm(3, 4)
torch.manual_seed(1); e = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True); str(e), [n for n, _ in e.named_parameters()], e(torch.randn(2, 3, 8)), e.linear1.weight
e = nn.TransformerEncoderLayer(8, 2, 16, 0.0, "gelu", batch_first=True, norm_first=True, bias=False); t = nn.TransformerEncoder(e, 2, nn.LayerNorm(8)); str(t), t(torch.randn(2, 3, 8)), t(torch.randn(2, 3, 8), torch.ones(3, 3).triu(1).bool()), t(torch.randn(2, 3, 8), src_key_padding_mask=torch.tensor([[False, False, True], [False, False, False]]))
e = nn.TransformerEncoderLayer(8, 2); e.eval(); e(torch.ones(3, 2, 8)), e(torch.ones(3, 8)), str(e)
nn.TransformerEncoderLayer(8, 2, activation="tanh")
nn.TransformerEncoderLayer(8, 3)
e = nn.TransformerEncoderLayer(8, 2, 16, 0.0); y = torch.randn(3, 2, 8, requires_grad=True); (e(y) ** 3).sum().backward(); y.grad, e.linear2.weight.grad, e.self_attn.in_proj_bias.grad
e = nn.TransformerEncoderLayer(8, 2, 16, 0.0); e(torch.ones(3, 2, 8), nn.Transformer.generate_square_subsequent_mask(3))
"""

STATISTICS = """
torch.std_mean(x), torch.std_mean(x, 1), torch.std_mean(x, dim=-1, keepdim=True), torch.std_mean(x, correction=0), torch.std_mean(x, False)
x.aminmax(), x.aminmax(dim=1), x.aminmax(dim=-1, keepdim=True), torch.aminmax(x).max, str(torch.aminmax(torch.arange(3)))
x.requires_grad_(); a = (x * x).aminmax(dim=0); (a.min + a.max * 2).sum().backward(); x.grad
x.requires_grad_(); a, b = torch.std_mean(x, 1); (a * b).sum().backward(); x.grad
x.requires_grad_(); (x * x).round().median().backward(); x.grad
x = torch.tensor([1.0, math.nan, 2.0], requires_grad=True); x.median().backward(); x.grad
x.kthvalue(2), x.kthvalue(3, 1), x.kthvalue(1, dim=0, keepdim=True), str(torch.kthvalue(torch.arange(3), 2))
x.kthvalue(5)
x.kthvalue(0)
torch.tensor(2.0).kthvalue(1)
[torch.randint(0, 4, (9,)).kthvalue(k) for k in range(1, 10) for _ in range(20)]
[torch.randint(0, 4, (n,)).float().kthvalue(k) for n in range(1, 25) for k in range(1, n + 1)]
torch.tensor([2.0, math.nan, 1.0, math.nan]).kthvalue(3), torch.tensor([2.0, math.nan, 1.0, math.nan]).kthvalue(2)
x.requires_grad_(); x.kthvalue(2, 1).values.sum().backward(); x.grad
x.cummax(-1), (x * x).cummin(0), torch.tensor([3, 1, 3, 3, 2]).cummax(0), torch.tensor([1.0, math.nan, 2.0]).cummax(0), torch.tensor([3.0, 1, 1, 2]).cummin(0), torch.tensor(2.0).cummax(0)
x.requires_grad_(); ((x * x).cummax(1).values * torch.arange(4.0)).sum().backward(); x.grad
torch.isin(torch.arange(5), torch.tensor([1, 3])), torch.isin(x.long(), torch.tensor([0]), invert=True), torch.isin(torch.arange(3), 1), torch.isin(2, torch.arange(3))
torch.bucketize(x, torch.tensor([-1.0, 0, 1])), torch.bucketize(torch.arange(4), torch.tensor([1, 3]), right=True), torch.bucketize(2.0, torch.tensor([1.0, 2.0])), torch.bucketize(x, torch.tensor([0.0]), out_int32=True), torch.bucketize(torch.tensor([math.nan]), torch.tensor([0.0]))
torch.bucketize(x, x)
torch.quantile(x, 0.5), torch.quantile(x, 0.3, 1), torch.quantile(x, torch.tensor([0.1, 0.5, 1.0]), dim=-1), torch.quantile(x, torch.tensor([0.1, 0.5]), 1, True), x.quantile(0.25, keepdim=True), torch.quantile(x, torch.tensor([0.5]), keepdim=True)
[torch.quantile(x, torch.tensor([0.13, 0.5]), -1, interpolation=how) for how in ("linear", "lower", "higher", "midpoint", "nearest")]
torch.quantile(x.half(), 0.5)
torch.quantile(x, 1.5)
torch.quantile(x, torch.tensor([0.5, -1.0]))
torch.quantile(x, torch.tensor([0.5], dtype=torch.float64))
torch.quantile(x, 0.5, interpolation="nonsense")
torch.quantile(torch.tensor([1.0, math.nan]), 0.5), torch.quantile(torch.tensor([[1.0, math.nan], [1.0, 2.0]]), 0.5, 1), torch.tensor(2.0).quantile(0.5)
x.requires_grad_(); torch.quantile(x, torch.tensor([0.1, 0.7]), 1).pow(2).sum().backward(); x.quantile(0.4).backward(); x.grad
torch.histc(x, 4, -2, 2), torch.histc(x), torch.histc(x, bins=5), torch.histc(torch.tensor([1.0, 1.0]), 4), torch.histc(torch.randn(1000), 20), torch.histc(torch.rand(500).double(), 7, 0, 1), torch.histc(torch.tensor([1.0, 2, 1]), bins=4, min=0, max=3)
torch.histc(torch.arange(3))
torch.histc(x, 0)
torch.histc(x, 3, 2, 1)
torch.cov(x[0]), torch.cov(x[0, 0]), torch.cov(x[0], correction=0), torch.cov(torch.arange(6).reshape(2, 3)), torch.cov(torch.tensor(1.0)), torch.corrcoef(x[0] ** 2), torch.corrcoef(x[0, 0]), torch.cov(x[0, :1])
torch.cov(x)
torch.corrcoef(x)
x.requires_grad_(); (torch.cov(x[0]) ** 2).sum().backward(); (torch.corrcoef(x[1] ** 2) ** 2).sum().backward(); x.grad
"""

LINEAR_ALGEBRA = """
torch.eye(0), torch.eye(1), torch.eye(3), torch.eye(2, 5), torch.eye(5, 2), torch.eye(3, 0), torch.eye(0, 3)
torch.eye(3, dtype=torch.int64), torch.eye(2, dtype=torch.bool), torch.eye(2, 3, dtype=torch.float16), torch.eye(3, 2, dtype=torch.bfloat16)
torch.linalg.inv(torch.tensor([[1.0, 2.0], [2.0, 4.0]]))
torch.linalg.solve(torch.tensor([[1.0, 2.0], [2.0, 4.0]]), torch.ones(2))
torch.linalg.inv(torch.tensor([[[2.0, 1.0], [0.0, 4.0]], [[1.0, 1.0], [0.0, 2.0]]]))
torch.linalg.pinv(torch.tensor([[[2.0, 1.0, 1.0], [0.0, 4.0, 1.0]], [[1.0, 1.0, 3.0], [0.0, 2.0, 1.0]]]))
torch.linalg.svdvals(torch.tensor([[[2.0, 1.0], [0.0, 4.0]]])), torch.linalg.matrix_rank(torch.eye(3).expand(2, 3, 3))
torch.linalg.det(torch.tensor([[1.0, 2.0], [2.0, 4.0]])), torch.linalg.det(torch.eye(3).expand(2, 2, 3, 3))
torch.linalg.solve(torch.diag(torch.tensor([1e-6, 1e6])), torch.ones(2))
torch.linalg.inv(torch.ones(2, 2, 3))
torch.linalg.det(x[0, :, :3] + torch.eye(3)), torch.det(torch.eye(3) * 2), torch.linalg.det(torch.randn(4, 4)), torch.linalg.det(torch.zeros(2, 2)), torch.linalg.det(torch.randn(5, 5).double())
torch.linalg.det(x[0])
torch.linalg.det(torch.eye(2).long())
x.requires_grad_(); torch.linalg.det(x[0, :, :3] ** 2 + torch.eye(3)).backward(); x.grad
torch.linalg.svd(x[0]).S, torch.linalg.svdvals(torch.randn(3, 5)), torch.linalg.svd(torch.randn(5, 2).double()).S, torch.linalg.svdvals(torch.zeros(2, 3))
torch.linalg.svd(x[0, 0])
torch.linalg.eigh(torch.tensor([[2.0, 1], [1, 3]])).eigenvalues, torch.linalg.eigvalsh(x[0] @ x[0].T), torch.linalg.eigvalsh(torch.randn(5, 5)), torch.linalg.eigvalsh(torch.randn(4, 4), UPLO="U"), torch.linalg.eigvalsh(torch.eye(3))
torch.linalg.eigh(x[0])
torch.linalg.qr(torch.randn(3, 3)), torch.linalg.qr(torch.randn(4, 2)), torch.linalg.qr(torch.randn(2, 4)), torch.linalg.qr(torch.randn(4, 2), mode="complete"), torch.linalg.qr(torch.randn(4, 2), mode="r").R
torch.linalg.qr(x[0], "nonsense")
torch.linalg.pinv(torch.randn(3, 2)), torch.pinverse(torch.randn(2, 4)), torch.linalg.pinv(torch.randn(3, 3).double())
torch.linalg.matrix_norm(x), torch.linalg.matrix_norm(x, 1), torch.linalg.matrix_norm(x, math.inf, keepdim=True), torch.linalg.matrix_norm(x[0], 2), torch.linalg.matrix_norm(x[0], "nuc"), torch.linalg.norm(x[0], 2)
torch.linalg.matrix_norm(x[0, 0])
torch.linalg.cholesky(torch.tensor([[4.0, 2], [2, 3]])), torch.linalg.cholesky(x[0] @ x[0].T + torch.eye(3)), torch.linalg.cholesky(torch.eye(2), upper=True)
torch.linalg.cholesky(torch.tensor([[1.0, 2], [2, 1]]))
"""

CORNERS = """
torch.einsum("...d,...d->...", torch.empty(0), torch.empty(0)), torch.einsum("ij,jk->ik", torch.empty(2, 0), torch.empty(0, 3))
F.cosine_similarity(x, torch.tensor(2.0), -1), F.cosine_similarity(x, x[0, 0], -1)
torch.diagonal(torch.rand(2, 3, 4)).bernoulli(), torch.rand(4, 3).T.bernoulli()
x.nonzero().stride(), (x > 0).nonzero()[:, 1], torch.argwhere(x > 1).shape, torch.nonzero(torch.zeros(3)).shape, torch.nonzero(torch.tensor(1.0)).shape
(x > 0).nonzero().view(2, -1)
x.lerp(-math.inf * torch.ones(4), 0.5), torch.lerp(x, x + 1, 0.7), torch.lerp(x, x + 1, torch.tensor([0.2, 0.5, 0.7, -1.0]))
torch.tensor(1.0).transpose(0, 1)
torch.tensor(1.0).t(), torch.tensor(1.0).transpose(0, -1)
w = nn.Parameter(x); w.copy_(w)
torch.tensor([True]).argmax(3)
torch.tensor(1.0).tensor_split(2)
torch.empty(2, 0).kthvalue(1)
F.nll_loss(x[0], torch.ones(3, 1).long())
F.huber_loss(x, x.half() * 2)
F.gelu(torch.tensor(-math.inf)), F.gelu(x.double())
"""

# Empty tensors, and arguments outside of what a function takes.
EDGES = """
torch.meshgrid(torch.arange(3), indexing="xy")
torch.cross(torch.ones(2, 2), torch.ones(2, 2))
torch.linalg.cross(torch.ones(2, 3), torch.ones(3))
torch.mode(torch.zeros(2, 0))
torch.median(torch.zeros(2, 0), 1)
torch.zeros(3).masked_scatter_(torch.tensor([True, True, False]), torch.ones(1))
(torch.ones(2, requires_grad=True) * 2).backward(torch.ones(3))
(torch.ones(2, requires_grad=True) * 2).backward(torch.ones(2, 1))
x.requires_grad_(); torch.autograd.grad(x.sum(), x, torch.ones(1))
torch.linalg.eigvalsh(torch.eye(2), UPLO="x")
torch.linalg.eigvalsh(torch.tensor([[1., 9.], [2., 3.]]), UPLO="l"), torch.linalg.eigvalsh(torch.tensor([[1., 9.], [2., 3.]]), UPLO="u")
torch.combinations(torch.ones(2, 2))
torch.combinations(torch.ones(2), -1)
torch.combinations(torch.ones(2), 0), torch.combinations(torch.ones(2), 3)
torch.split(torch.ones(3), [4, -1])
torch.tensor_split(torch.arange(4), [-1]), torch.tensor_split(torch.arange(4), [-9, 9]), torch.tensor_split(torch.arange(4), [3, 1])
torch.tensor_split(torch.ones(4), 0)
torch.block_diag()
torch.trapezoid(torch.zeros(0)), torch.trapezoid(torch.zeros(2, 0)), torch.trapezoid(torch.zeros(0, 2))
torch.vander(torch.ones(2, 2))
torch.quantile(torch.zeros(0), 0.5)
torch.logspace(0, 1, 3, base=-2)
torch.tensordot(torch.ones(2, 3), torch.ones(3, 2), ([1], [0, 1]))
torch.as_strided(torch.ones(3), (2,), (1, 2))
torch.arange(0, math.inf)
torch.arange(math.nan)
torch.multinomial(torch.zeros(0, 3), 1)
torch.special.gammaincc(torch.zeros(3), torch.tensor([0., 1., -1.]))
torch.norm(torch.ones(2), "x")
torch.cdist(torch.ones(2, 3), torch.ones(2, 4))
torch.diff(torch.tensor(1.))
torch.take(torch.ones(2), torch.tensor([5]))
torch.logcumsumexp(torch.tensor([1, 2]), 0)
"""

EDGES_OF_LAYERS = """
F.gaussian_nll_loss(x, x, -torch.ones(2, 3, 4))
F.gaussian_nll_loss(x, x, -1.0)
F.gaussian_nll_loss(x[0], x[0], torch.ones(3)), F.gaussian_nll_loss(x[0], x[0], torch.ones(3, 1))
F.gaussian_nll_loss(x[0], x[0], torch.ones(2))
nn.utils.rnn.pad_sequence([])
F.one_hot(torch.tensor([], dtype=torch.int64))
nn.RNNCell(2, 3, nonlinearity="no")(torch.ones(2))
nn.LSTMCell(2, 3)(torch.ones(3))
nn.GRUCell(2, 3)(torch.ones(2), torch.ones(4))
F.softshrink(x, -1)
F.binary_cross_entropy(torch.ones(2), torch.tensor([2.0, -1.0]))
F.kl_div(torch.tensor(1.0), torch.tensor(1.0), reduction="batchmean")
F.margin_ranking_loss(x[0], x[0], x[0, 0])
F.hinge_embedding_loss(x, x), F.hinge_embedding_loss(x, x.sign())
F.cosine_embedding_loss(x, x, torch.ones(2, 3))
F.triplet_margin_loss(x[0, 0], x[0], x[0])
nn.init.kaiming_uniform_(torch.ones(3, 3), mode="no")
nn.init.calculate_gain("leaky_relu", True)
F.max_pool1d(x, 3, dilation=2)
F.conv1d(x, torch.ones(2, 3, 2), groups=0)
F.conv1d(x, torch.ones(2, 3, 2), stride=0)
F.conv1d(x, torch.ones(2, 3, 2), padding=-1)
F.conv1d(x, torch.ones(3, 3, 2), groups=2)
F.adaptive_avg_pool1d(x, 0)
F.adaptive_max_pool2d(x, (0, None)).shape
F.adaptive_avg_pool1d(x, (2, 2))
F.adaptive_avg_pool1d(x, ())
F.adaptive_avg_pool2d(x, (2,))
F.adaptive_max_pool2d(x, (2,))
F.adaptive_avg_pool2d(x, (2, 2, 2))
F.scaled_dot_product_attention(torch.ones(1, 3, 2, 4), torch.ones(1, 2, 2, 4), torch.ones(1, 2, 2, 4), enable_gqa=True)
F.batch_norm(x, None, None)
F.rms_norm(torch.arange(4), (4,))
F.rms_norm(x, (4,), torch.ones(3))
nn.RNN(2, 3, 0)
nn.LSTM(2, 0)
"""

EVERY = {name: text for name, text in globals().items() if name.isupper() and isinstance(text, str)}
OTHER_WORDS = ("expects a tensor with <= 2 dimensions", "has been modified by an inplace operation")


@pytest.mark.parametrize("name", EVERY)
def test_programs_give_the_same(name: str):
    found = differences(programs(EVERY[name]), other_words=OTHER_WORDS)
    assert not found, "\n".join(found)


SCHEDULE = """
p, q = nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(2))
opt = torch.optim.SGD([{{"params": [p]}}, {{"params": [q], "lr": 0.5}}], lr=0.1)
L = torch.optim.lr_scheduler
schedule = {schedule}
seen = []
for _ in range(25): seen.append((opt.step(), schedule.get_last_lr(), schedule.step()))
seen, str(opt), schedule.last_epoch, {state}
"""
SCHEDULES = """
L.StepLR(opt, 3)
L.StepLR(opt, step_size=2, gamma=0.7)
L.MultiStepLR(opt, [2, 5, 5], 0.5)
L.ExponentialLR(opt, 0.9)
L.LinearLR(opt)
L.LinearLR(opt, 0.1, 0.8, 7)
L.CosineAnnealingLR(opt, 10)
L.CosineAnnealingLR(opt, T_max=7, eta_min=0.01)
L.StepLR(3, 2)
L.StepLR(opt, 0)
"""
WITHOUT_STATE = """
L.LambdaLR(opt, lambda n: min(1, (n + 1) / 5))
L.SequentialLR(opt, [L.LambdaLR(opt, lambda n: (n + 1) / 5), L.LambdaLR(opt, lambda n: 0.9 ** n)], [6])
L.SequentialLR(opt, [L.LinearLR(opt, 0.1, total_iters=4), L.CosineAnnealingLR(opt, 9, 0.001)], [4])
L.SequentialLR(opt, [L.StepLR(opt, 2), L.LinearLR(opt, 0.3), L.ExponentialLR(opt, 0.5)], [4, 12])
"""


def test_schedules_give_the_same_rates_to_the_last_digit():
    whole = [SCHEDULE.format(schedule=s, state="str(schedule.state_dict())") for s in SCHEDULES.strip().splitlines()]
    others = [SCHEDULE.format(schedule=s, state="0") for s in WITHOUT_STATE.strip().splitlines()]
    assert not differences(whole + others, 0)


STEPS = """
layer = nn.Linear(3, 2)
chosen = torch.optim.{optimizer}
for _ in range(5):
    chosen.zero_grad()
    (layer(torch.ones(5, 3)) ** 2).sum().backward()
    chosen.step()
str(chosen), list(layer.parameters()), chosen.state_dict(), list(chosen.state[layer.weight])
"""
OPTIMIZERS = """
SGD(layer.parameters(), lr=0.1, momentum=0.9, nesterov=True)
SGD(layer.parameters(), 0.1, 0.9, 0.3)
SGD(layer.parameters(), nesterov=True)
Adagrad(layer.parameters(), lr=0.1)
Adagrad(layer.parameters(), 0.1, 0.5, 0.1, 0.3)
Adagrad(layer.parameters(), -1)
RMSprop(layer.parameters(), 0.1)
RMSprop(layer.parameters(), 0.1, 0.9, 1e-6, 0.1, 0.5)
"""
STATES = [
    """
layer = nn.Linear(2, 2)
first = torch.optim.Adam(layer.parameters(), lr=0.1)
def closure():
    first.zero_grad()
    loss = (layer(torch.ones(1, 2)) ** 2).sum()
    loss.backward()
    return loss
losses = [first.step(closure) for _ in range(3)]
second = torch.optim.Adam(layer.parameters(), lr=0.5)
second.load_state_dict(first.state_dict())
losses.append(second.step(closure))
first.add_param_group({"params": [nn.Parameter(torch.ones(1))], "lr": 7})
losses, str(first), first.state_dict(), list(layer.parameters())
""",
    "layer = nn.Linear(2, 2)\no = torch.optim.Adam(layer.parameters())\no.add_param_group({'params': [layer.weight]})",
    "torch.optim.SGD(nn.Linear(2, 2).parameters()).load_state_dict({'state': {}, 'param_groups': []})",
]


def test_optimizers_take_the_same_steps_and_have_the_same_states():
    steps = [STEPS.format(optimizer=one) for one in OPTIMIZERS.strip().splitlines()]
    assert not differences(steps + STATES, 1e-5)
