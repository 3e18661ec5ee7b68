"""Models as people write them for torch, each in its own habits. test_nn_ported changes imports.

`EXAMPLES` lists (class, arguments, shape of the input, or vocabulary and shape for tokens).
"""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor


class NanoGPT(nn.Module):
    def __init__(self, vocab, block=8, n_embd=12, n_head=3, n_layer=2):
        super().__init__()
        self.transformer = nn.ModuleDict(
            dict(
                wte=nn.Embedding(vocab, n_embd),
                wpe=nn.Embedding(block, n_embd),
                h=nn.ModuleList([NanoBlock(n_embd, n_head, block) for _ in range(n_layer)]),
                ln_f=nn.LayerNorm(n_embd),
            )
        )
        self.lm_head = nn.Linear(n_embd, vocab, bias=False)
        self.transformer.wte.weight = self.lm_head.weight
        self.apply(self._init_weights)
        for name, p in self.named_parameters():
            if name.endswith("c_proj.weight"):
                torch.nn.init.normal_(p, mean=0.0, std=0.02 / math.sqrt(2 * n_layer))

    def _init_weights(self, module):
        if isinstance(module, nn.Linear):
            torch.nn.init.normal_(module.weight, mean=0.0, std=0.02)
            if module.bias is not None:
                torch.nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Embedding):
            torch.nn.init.normal_(module.weight, mean=0.0, std=0.02)

    def forward(self, idx):
        b, t = idx.size()
        pos = torch.arange(0, t, dtype=torch.long, device=idx.device)
        x = self.transformer.wte(idx) + self.transformer.wpe(pos)
        for block in self.transformer.h:
            x = block(x)
        return self.lm_head(self.transformer.ln_f(x))


class NanoBlock(nn.Module):
    def __init__(self, n_embd, n_head, block):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(n_embd), nn.LayerNorm(n_embd)
        self.c_attn = nn.Linear(n_embd, 3 * n_embd)
        self.c_proj = nn.Linear(n_embd, n_embd)
        self.mlp = nn.Sequential(
            nn.Linear(n_embd, 4 * n_embd), nn.GELU(), nn.Linear(4 * n_embd, n_embd)
        )
        self.n_head, self.n_embd = n_head, n_embd
        mask = torch.tril(torch.ones(block, block)).view(1, 1, block, block)
        self.register_buffer("bias", mask)

    def attend(self, x):
        B, T, C = x.size()
        q, k, v = self.c_attn(x).split(self.n_embd, dim=2)
        k = k.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        q = q.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        v = v.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = att.masked_fill(self.bias[:, :, :T, :T] == 0, float("-inf"))
        att = F.softmax(att, dim=-1)
        y = att @ v
        y = y.transpose(1, 2).contiguous().view(B, T, C)
        return self.c_proj(y)

    def forward(self, x):
        x = x + self.attend(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class RMSNorm(torch.nn.Module):
    def __init__(self, dim: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def _norm(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return self._norm(x.float()).type_as(x) * self.weight


class Llama(nn.Module):
    """Rotary positions, grouped queries, gated feed-forward, fused attention."""

    def __init__(self, vocab, dim=16, heads=4, kv_heads=2):
        super().__init__()
        self.heads, self.kv_heads, self.head_dim = heads, kv_heads, dim // heads
        self.tok_embeddings = nn.Embedding(vocab, dim)
        self.wq = nn.Linear(dim, dim, bias=False)
        self.wk = nn.Linear(dim, kv_heads * self.head_dim, bias=False)
        self.wv = nn.Linear(dim, kv_heads * self.head_dim, bias=False)
        self.wo = nn.Linear(dim, dim, bias=False)
        self.w1, self.w3 = nn.Linear(dim, 24, bias=False), nn.Linear(dim, 24, bias=False)
        self.w2 = nn.Linear(24, dim, bias=False)
        self.norm1, self.norm2 = RMSNorm(dim), RMSNorm(dim)
        freqs = 1.0 / (10000 ** (torch.arange(0, self.head_dim, 2).float() / self.head_dim))
        angles = torch.outer(torch.arange(32).float(), freqs)
        self.register_buffer("cos", angles.cos().repeat_interleave(2, dim=-1), persistent=False)
        self.register_buffer("sin", angles.sin().repeat_interleave(2, dim=-1), persistent=False)

    def rotate(self, x):
        x1, x2 = x[..., ::2], x[..., 1::2]
        turned = torch.stack((-x2, x1), dim=-1).flatten(-2)
        t = x.shape[1]
        return x * self.cos[None, :t, None, :] + turned * self.sin[None, :t, None, :]

    def forward(self, tokens: Tensor):
        h = self.tok_embeddings(tokens)
        bsz, seqlen, _ = h.shape
        x = self.norm1(h)
        xq = self.wq(x).view(bsz, seqlen, self.heads, self.head_dim)
        xk = self.wk(x).view(bsz, seqlen, self.kv_heads, self.head_dim)
        xv = self.wv(x).view(bsz, seqlen, self.kv_heads, self.head_dim)
        xq, xk = self.rotate(xq), self.rotate(xk)
        n_rep = self.heads // self.kv_heads
        xk = xk[:, :, :, None, :].expand(-1, -1, -1, n_rep, -1).reshape(xq.shape)
        xv = torch.repeat_interleave(xv, dim=2, repeats=n_rep)
        out = F.scaled_dot_product_attention(
            xq.transpose(1, 2), xk.transpose(1, 2), xv.transpose(1, 2), is_causal=True
        )
        h = h + self.wo(out.transpose(1, 2).reshape(bsz, seqlen, -1))
        y = self.norm2(h)
        return h + self.w2(F.silu(self.w1(y)) * self.w3(y))


class SwinBlock(nn.Module):
    """Shifted windows, a table of relative positions, einsum, in-place on views."""

    def __init__(self, dim=8, heads=2, window=2, shift=1):
        super().__init__()
        self.dim, self.heads, self.window, self.shift = dim, heads, window, shift
        self.scale = (dim // heads) ** -0.5
        self.table = nn.Parameter(torch.zeros((2 * window - 1) ** 2, heads))
        coords = torch.stack(torch.meshgrid([torch.arange(window)] * 2, indexing="ij")).flatten(1)
        relative = (coords[:, :, None] - coords[:, None, :]).permute(1, 2, 0).contiguous()
        relative[:, :, 0] += window - 1
        relative[:, :, 1] += window - 1
        relative[:, :, 0] *= 2 * window - 1
        self.register_buffer("relative_index", relative.sum(-1))
        self.norm = nn.LayerNorm(dim)
        self.qkv = nn.Linear(dim, dim * 3, bias=True)
        self.proj = nn.Linear(dim, dim)
        self.softmax = nn.Softmax(dim=-1)

    def forward(self, x):
        B, H, W, C = x.shape
        w, n = self.window, self.window**2
        shortcut = x
        x = torch.roll(self.norm(x), shifts=(-self.shift, -self.shift), dims=(1, 2))
        x = x.view(B, H // w, w, W // w, w, C).permute(0, 1, 3, 2, 4, 5).reshape(-1, n, C)
        qkv = self.qkv(x).reshape(-1, n, 3, self.heads, C // self.heads).permute(2, 0, 3, 1, 4)
        q, k, v = qkv.unbind(0)
        q = q * self.scale
        attn = torch.einsum("bhid,bhjd->bhij", q, k)
        bias = self.table[self.relative_index.view(-1)].view(n, n, -1)
        attn = attn + bias.permute(2, 0, 1).unsqueeze(0)
        attn = self.softmax(attn)
        x = self.proj((attn @ v).transpose(1, 2).reshape(-1, n, C))
        x = x.view(B, H // w, W // w, w, w, C).permute(0, 1, 3, 2, 4, 5).reshape(B, H, W, C)
        x = torch.roll(x, shifts=(self.shift, self.shift), dims=(1, 2))
        x += shortcut
        return x


class ConvNeXtBlock(nn.Module):
    def __init__(self, dim=6):
        super().__init__()
        self.dwconv = nn.Conv2d(dim, dim, kernel_size=7, padding=3, groups=dim)
        self.norm = nn.LayerNorm(dim, eps=1e-6)
        self.pwconv1 = nn.Linear(dim, 4 * dim)
        self.act = nn.GELU()
        self.pwconv2 = nn.Linear(4 * dim, dim)
        self.gamma = nn.Parameter(1e-2 * torch.ones((dim)), requires_grad=True)

    def forward(self, x):
        input = x
        x = self.dwconv(x)
        x = x.permute(0, 2, 3, 1)
        x = self.pwconv2(self.act(self.pwconv1(self.norm(x))))
        if self.gamma is not None:
            x = self.gamma * x
        x = x.permute(0, 3, 1, 2)
        return input + x


class ShuffleSE(nn.Module):
    """Channel shuffle, squeeze and excite, dense concatenation, several pools."""

    def __init__(self, inp=4):
        super(ShuffleSE, self).__init__()
        self.branch = nn.Sequential(
            nn.Conv2d(inp, inp, 1, 1, 0, bias=False),
            nn.BatchNorm2d(inp),
            nn.ReLU(inplace=True),
            nn.Conv2d(inp, inp, 3, 2, 1, groups=inp, bias=False),
            nn.BatchNorm2d(inp),
        )
        self.pool = nn.AvgPool2d(3, 2, 1)
        self.squeeze = nn.Sequential(
            nn.Conv2d(2 * inp, 2, 1), nn.SiLU(True), nn.Conv2d(2, 2 * inp, 1)
        )
        self.dense = nn.ModuleList()
        for i in range(2):
            self.dense.append(nn.Conv2d(2 * inp + i * 3, 3, 3, padding="same"))
        self.head = nn.Linear(2 * inp + 6, 5)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out")

    def forward(self, x):
        out = torch.cat((self.branch(x), self.pool(x)), 1)
        b, c, h, w = out.data.size()
        out = out.view(b, 2, c // 2, h, w)
        out = torch.transpose(out, 1, 2).contiguous().view(b, -1, h, w)
        out = out * torch.sigmoid(self.squeeze(out.mean((2, 3), keepdim=True)))
        features = [out]
        for conv in self.dense:
            features.append(F.relu(conv(torch.cat(features, dim=1)), inplace=True))
        out = torch.cat(features, dim=1)
        out = F.adaptive_avg_pool2d(out, (1, 1)) + F.max_pool2d(out, kernel_size=out.size()[2:])
        return self.head(torch.flatten(out, 1))


class UNet(nn.Module):
    def __init__(self, c=4):
        super().__init__()
        self.down1, self.down2 = self.double(1, c), self.double(c, 2 * c)
        self.up1 = self.double(3 * c, c)
        self.out = nn.Conv2d(c, 2, kernel_size=1)
        self.pool = nn.MaxPool2d(2)

    @staticmethod
    def double(i, o):
        return nn.Sequential(
            nn.Conv2d(i, o, 3, padding=1), nn.GroupNorm(2, o), nn.LeakyReLU(0.1, inplace=True)
        )

    def forward(self, x):
        skip = self.down1(x)
        x = self.down2(self.pool(skip))
        x = F.interpolate(x, scale_factor=2, mode="nearest")
        dy, dx = skip.size()[2] - x.size()[2], skip.size()[3] - x.size()[3]
        x = F.pad(x, [dx // 2, dx - dx // 2, dy // 2, dy - dy // 2])
        return F.log_softmax(self.out(self.up1(torch.cat([skip, x], dim=1))), dim=1)


class Mixer(nn.Module):
    """Patches, mixing over both axes, a class token, learnt positions, a frozen layer."""

    def __init__(self, dim=6, patch=4, n=4):
        super().__init__()
        self.proj = nn.Conv2d(3, dim, kernel_size=patch, stride=patch)
        self.cls = nn.Parameter(torch.randn(1, 1, dim))
        self.pos = nn.Parameter(torch.zeros(1, n + 1, dim), requires_grad=False)
        self.token = nn.Sequential(nn.Linear(n + 1, 7), nn.Hardswish(), nn.Linear(7, n + 1))
        self.channel = nn.Linear(dim, dim)
        self.norm = nn.LayerNorm([dim])
        self.channel.weight.requires_grad = False

    def forward(self, x):
        B = x.shape[0]
        x = self.proj(x).flatten(2).transpose(1, 2)
        x = torch.cat((self.cls.expand(B, -1, -1), x), dim=1) + self.pos
        x = x + self.token(self.norm(x).transpose(1, 2)).transpose(1, 2)
        x = x + torch.tanh(self.channel(x)).mul(0.5)
        weights = F.softmax(x.norm(dim=-1), dim=1)
        pooled = (weights.unsqueeze(-1) * x).sum(1)
        return torch.where(pooled > 0, pooled, 0.1 * pooled) / x.std(dim=1, unbiased=False)


class Siamese(nn.Module):
    """One encoder used twice, distances, buffers, a loop with early state, bilinear by matmul."""

    def __init__(self, d=5):
        super().__init__()
        self.encoder = nn.Sequential()
        self.encoder.add_module("fc1", nn.Linear(d, 6))
        self.encoder.add_module("act", nn.Tanh())
        self.encoder.add_module("fc2", nn.Linear(6, 4, bias=True))
        self.W = nn.Parameter(torch.empty(4, 4))
        nn.init.xavier_uniform_(self.W)
        self.cell = nn.Linear(8, 4)
        self.register_buffer("step", torch.tensor(0.5))

    def forward(self, x):
        a, b = self.encoder(x[:, 0]), self.encoder(x[:, 1])
        a, b = F.normalize(a, dim=-1), F.normalize(b, p=2, dim=1)
        score = torch.matmul(torch.matmul(a, self.W), b.t())
        distance = (a - b).pow(2).sum(dim=1).clamp(min=1e-6).sqrt()
        h = x.new_zeros(x.size(0), 4)
        for t in range(3):
            h = torch.sigmoid(self.cell(torch.cat([h, a if t % 2 else b], dim=-1))) * self.step + h
        best, where = torch.max(score, dim=1)
        return torch.logsumexp(score, dim=1) + distance - best + h.sum(-1) + where.float()


class Conv1dNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.convs = nn.ModuleList([nn.Conv1d(3, 4, k, padding=k // 2) for k in (1, 3, 5)])
        self.bn = nn.BatchNorm1d(12)
        self.attn = nn.MultiheadAttention(12, 3, batch_first=True)
        self.encoder = nn.TransformerEncoderLayer(
            d_model=12, nhead=2, dim_feedforward=10, dropout=0.0, batch_first=True
        )
        self.fc = nn.Linear(12, 2)

    def forward(self, x):
        x = torch.cat([F.relu(conv(x)) for conv in self.convs], dim=1)
        x = self.bn(x).permute(0, 2, 1)
        x = x + self.attn(x, x, x)[0]
        x = self.encoder(x)
        return self.fc(x.max(dim=1).values)


EXAMPLES = [
    (NanoGPT, (11,), (11, (2, 6))),
    (Llama, (13,), (13, (2, 5))),
    (SwinBlock, (), (2, 4, 4, 8)),
    (ConvNeXtBlock, (), (2, 6, 8, 8)),
    (ShuffleSE, (), (2, 4, 8, 8)),
    (UNet, (), (2, 1, 9, 10)),
    (Mixer, (), (2, 3, 8, 8)),
    (Siamese, (), (3, 2, 5)),
    (Conv1dNet, (), (2, 3, 9)),
]
