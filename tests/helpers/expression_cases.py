"""Expressions as they stand in torch programs, to be evaluated with either library as `torch`."""

from __future__ import annotations

import math

import numpy as np
from engine_cases import Maker


def names(P) -> dict:
    """What the expressions may use: the library and a few tensors."""
    m = Maker("expressions")
    return {
        "torch": P,
        "nn": P.nn,
        "F": P.nn.functional,
        "math": math,
        "a": P.tensor(m.values(3, 4).astype(np.float32)),
        "b": P.tensor(m.values(4, 5).astype(np.float32)),
        "c": P.tensor(m.values(2, 3, 4).astype(np.float32)),
        "i": P.tensor(m.integers(3, 3, 4)),
        "img": P.tensor(m.values(2, 4, 6, 6).astype(np.float32)),
    }


EXPRESSIONS = """
a.mean([0,1])
a.sum((0,1),keepdim=True)
torch.sum(a,1)
torch.sum(a,dim=1,keepdim=True)
a.max(1).indices
torch.max(a,dim=-1).values
a.max()
torch.max(a,a*2)
a.min(0,keepdim=True)[0]
a.argmax()
a.argmax(dim=1)
a.std()
a.var(1,unbiased=False)
a.norm()
a.norm(p=1)
a.norm(2,1)
torch.norm(a,dim=1,keepdim=True)
a.view(2,-1)
a.view((4,3))
a.reshape([6,2])
a.permute([1,0])
c.permute(0,-1,1)
c.transpose(-1,-2)@c
c.flatten(1)
torch.flatten(c,start_dim=1)
c.unsqueeze(-1).squeeze(-1)
c.squeeze()
a.T
a.t()
a[:,None]
a[...,-1]
a[1]
a[-1,::2]
a[[0,2]]
a[:,[0,2]]
a[a>0]
a[i[0]]
c[:,i[0]]
c[torch.arange(2),:,1]
c[0,i[0],1]
a.expand(2,3,4)
a.expand(2,-1,-1)
a.repeat(2,1)
a.tile(2,2)
torch.cat([a,a],dim=-1)
torch.cat((a,a*2))
torch.stack([a,a],dim=-1)
torch.hstack((a,a))
torch.vstack((a,a))
a.chunk(2,dim=1)[1]
torch.chunk(a,3,0)[2]
torch.split(a,3,dim=1)[1]
a.split([1,3],1)[1]
torch.unbind(c,1)[2]
a.clamp(0)
a.clamp(min=0,max=0.5)
torch.clamp(a,0,1)
a.clip(-1,1)
a.pow(2)
a**0.5
2**a
a.abs().sqrt()
a.abs().log()
torch.exp(-a)
a.neg()
a.sign()
a.sigmoid()*a.tanh()
torch.rsqrt(a.abs()+1)
a.float().half().float()
a.to(torch.float64)
a.long()
a.int()+1
a.bool()
a.type(torch.float64)
a.double()*a.double()
i.float()/3
i/2
i//2
i%2
i*2.5
i+a
i.sum()
(a>0).sum()
(a>0).float().mean()
(a>0)&(a<1)
~(a>0)
(a>0).any(1)
(a>0).all()
a.eq(a)
a.masked_fill(a>0,float('-inf')).softmax(-1)
torch.where(a>0,a,torch.zeros_like(a))
torch.where(a>0,1.0,0.0)
torch.tril(torch.ones(3,3))
torch.triu(torch.full((3,3),float('-inf')),diagonal=1)
torch.eye(3)
torch.arange(5)
torch.arange(1,10,2.5)
torch.arange(0,1,0.25)
torch.linspace(0,1,5)
torch.zeros(2,3,dtype=torch.long)
torch.ones((2,3))
torch.full((2,),7)
torch.tensor([1,2.5])
torch.tensor(3)
torch.tensor([[True,False]])
torch.outer(a[0],b[0])
torch.einsum('ij,jk->ik',a,b)
torch.einsum('bij,bkj->bik',c,c)
torch.einsum('bij->bi',c)
torch.einsum('ij->ji',a)
torch.matmul(c,b)
torch.bmm(c,c.transpose(1,2))
torch.mm(a,b)
a@b[:,0]
torch.addmm(torch.ones(5),a,b)
torch.dot(a[0],a[1])
torch.cumsum(a,dim=0)
torch.prod(a,1)
a.prod()
torch.sort(a,dim=1,descending=True).values
torch.topk(a,2).values
torch.topk(a,2,dim=0).indices
a.argsort(1)
torch.gather(a,1,i)
torch.roll(a,1,0)
torch.flip(a,[0])
a.flip(0,1)
torch.logsumexp(a,dim=1)
a.log_softmax(dim=1)
F.one_hot(i)
F.cross_entropy(a,i[:,0])
F.cross_entropy(c,i[:2,:].clamp(max=2))
F.nll_loss(F.log_softmax(a,-1),i[:,0])
F.mse_loss(a,a*2)
F.l1_loss(a,a*2,reduction='sum')
F.binary_cross_entropy_with_logits(a,(a>0).float())
F.softmax(a,dim=0)
F.normalize(a)
F.pad(a,(1,1))
F.pad(img,(1,2,0,-1))
F.gelu(a)
F.silu(a)
F.leaky_relu(a,0.2)
F.elu(a)
F.softplus(a)
F.hardtanh(a)
F.relu6(a*5)
F.glu(a)
F.mish(a)
F.logsigmoid(a)
F.hardsigmoid(a)
F.dropout(a,0.5,training=False)
F.layer_norm(a,(4,))
F.avg_pool2d(img,2)
F.max_pool2d(img,kernel_size=2,stride=2)
F.adaptive_avg_pool2d(img,1)
F.adaptive_avg_pool2d(img,(3,2))
F.adaptive_max_pool2d(img,1)
F.interpolate(img,scale_factor=2)
F.interpolate(img,size=(3,4))
F.cosine_similarity(a,a*2+1)
F.pixel_shuffle(img,2)
nn.PReLU()(a)
nn.GLU()(a)
nn.Hardtanh()(a)
nn.LogSigmoid()(a)
nn.Mish()(a)
nn.InstanceNorm2d(4)(img)
nn.ReLU6()(a)
nn.Softmax(dim=1)(a)
nn.MaxPool2d((2,3),(1,2))(img)
nn.AdaptiveAvgPool2d(2)(img)
nn.AdaptiveMaxPool2d(2)(img)
nn.MaxPool1d(2)(c)
nn.AvgPool1d(2)(c)
nn.AdaptiveAvgPool1d(1)(c)
torch.clone(a)
torch.square(a)
torch.numel(a)
torch.is_tensor(a)
torch.swapaxes(c,0,1)
torch.lerp(a,a*2,0.5)
torch.masked_select(a,a>0)
torch.index_select(a,1,i[0])
torch.nonzero(a>0)
torch.empty_like(a).fill_(2)
torch.add(a,a,alpha=2)
torch.mul(a,2)
torch.div(a,2,rounding_mode='floor')
torch.true_divide(a,2)
torch.softmax(a,dim=-1)
torch.relu(a)
torch.sigmoid(a)
torch.mean(a,dim=(0,1))
torch.var(a,dim=1,unbiased=False)
torch.nn.functional.relu(a)
torch.broadcast_to(a,(2,3,4))
torch.concat([a,a])
torch.movedim(c,0,-1)
torch.exp2(a)
torch.erf(a)
torch.log1p(a.abs())
a.item() if a.numel()==1 else a.shape[0]
a.new_zeros(2)
a.new_ones((2,3))
a.size(-1)
a.shape
len(a)
a.numel()
a.dim()
a.is_contiguous()
a.tolist()
a.view_as(a)
a.contiguous()
a.add(1).mul(2).sub(1).div(3)
a.index_select(0,torch.tensor([0]))
a.nelement()
a.narrow(1,0,2)
a.ne(0).all()
a.logical_not()
a.isnan().any()
a.cos()+a.sin()
a.square().mean().sqrt()
a.softmax(1).log()
a.unflatten(1,(2,2))
""".strip().splitlines()
