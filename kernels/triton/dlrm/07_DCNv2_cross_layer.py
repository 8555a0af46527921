"""DCN-v2 cross layer of low rank: two matrix products, the second with the cross in its epilogue.

out = x0 * (U (V x) + b) + x.

The first launch writes V x (rank columns), the second multiplies by U and applies bias, product
with x0 and addition of x before it stores: U (V x) is never written to memory.

Bound by arithmetic: 4 * batch * features * rank FLOPs (16384, 3456, 512: 116 GFLOP). fp32 keeps
IEEE products (no TF32): its ceiling is the fp32 FMA rate. Floor in bytes: (3 * batch * features +
2 * features * rank + features) * itemsize (694 MB at fp32, 347 MB at bf16).
"""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def linear_kernel(
    a_ptr,
    weight_ptr,
    bias_ptr,
    x0_ptr,
    x_ptr,
    out_ptr,
    M,
    N,
    K,
    CROSS: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    # a [M, K] times weight [N, K] transposed. Tile columns of one tile row run together: the rows
    # of a come from the L2.
    tiles_n = tl.cdiv(N, BLOCK_N)
    m = (tl.program_id(0) // tiles_n) * BLOCK_M + tl.arange(0, BLOCK_M)
    n = (tl.program_id(0) % tiles_n) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for done in range(0, K, BLOCK_K):
        k = done + tl.arange(0, BLOCK_K)
        # int64: rows times columns may exceed 2^31.
        a_tile = a_ptr + m.to(tl.int64)[:, None] * K + k[None, :]
        a = tl.load(a_tile, mask=(m < M)[:, None] & (k < K)[None, :], other=0.0)
        w_tile = weight_ptr + n.to(tl.int64)[None, :] * K + k[:, None]
        w = tl.load(w_tile, mask=(k < K)[:, None] & (n < N)[None, :], other=0.0)
        acc = tl.dot(a, w, acc, input_precision="ieee")
    inside = (m < M)[:, None] & (n < N)[None, :]
    offsets = m.to(tl.int64)[:, None] * N + n[None, :]
    if CROSS:
        bias = tl.load(bias_ptr + n, mask=n < N, other=0.0).to(tl.float32)
        x0 = tl.load(x0_ptr + offsets, mask=inside, other=0.0).to(tl.float32)
        x = tl.load(x_ptr + offsets, mask=inside, other=0.0).to(tl.float32)
        acc = x0 * (acc + bias[None, :]) + x
    tl.store(out_ptr + offsets, acc, mask=inside)


class ModelNew(nn.Module):
    """Cross layer, accumulated in fp32; `self.down` and `self.up` only hold the parameters."""

    def __init__(self, features: int, rank: int) -> None:
        super().__init__()
        self.down = nn.Linear(features, rank, bias=False)
        self.up = nn.Linear(rank, features)

    def forward(self, x0: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        """x0, x: (batch, features) -> (batch, features)."""
        x0, x = x0.contiguous(), x.contiguous()
        batch, features = x.shape
        down, up, bias = self.down.weight, self.up.weight, self.up.bias
        rank = down.shape[0]
        low = torch.empty((batch, rank), dtype=x.dtype, device=x.device)
        out = torch.empty_like(x)
        if x.dtype == torch.float32:
            block_m, block_n, block_k, stages = 128, 64, 32, 2
        else:
            block_m, block_n, block_k, stages = 128, 128, 64, 3
        for a, weight, result, width, cross in (
            (x, down, low, rank, False),
            (low, up, out, features, True),
        ):
            grid = (triton.cdiv(batch, block_m) * triton.cdiv(width, block_n),)
            linear_kernel[grid](
                a,
                weight,
                bias,
                x0,
                x,
                result,
                batch,
                width,
                a.shape[1],
                CROSS=cross,
                BLOCK_M=block_m,
                BLOCK_N=block_n,
                BLOCK_K=block_k,
                num_warps=8,
                num_stages=stages,
            )
        return out
