"""Pointwise (1 x 1) convolution as a matrix product over channels, read in place.

y[n, o, p] = sum_c W[o, c] * x[n, c, p] (+ b[o]), p running over the pixels.

A program makes up to 128 output channels of a run of pixels, so that with 128 outputs each input
element is read once; nothing is transposed. fp32 keeps IEEE products (no TF32).

Floor in bytes: (N * C * P + N * O * P + O * C) * itemsize (16 x 64 x 1024 x 1024 to 128 channels:
12.88 GB at fp32, 6.44 GB at bf16). FLOPs: 2 * N * O * C * P (275 GFLOP). At bf16 it is bound by
memory; at fp32 on the FMA units (an H200: 67 TFLOP/s by its data sheet) by arithmetic.
"""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def pointwise_kernel(
    x_ptr,
    weight_ptr,
    bias_ptr,
    y_ptr,
    channels,
    outputs,
    pixels,
    BLOCK_O: tl.constexpr,
    BLOCK_C: tl.constexpr,
    BLOCK_P: tl.constexpr,
):
    # Output tiles of the same pixels run together: x comes from the L2 the second time.
    tiles_o = tl.cdiv(outputs, BLOCK_O)
    tiles_p = tl.cdiv(pixels, BLOCK_P)
    program = tl.program_id(0)
    o = (program % tiles_o) * BLOCK_O + tl.arange(0, BLOCK_O)
    p = (program // tiles_o % tiles_p) * BLOCK_P + tl.arange(0, BLOCK_P)
    # int64: the output has 2^31 elements as shipped.
    sample = (program // tiles_o // tiles_p).to(tl.int64)
    x_ptr += sample * channels * pixels
    y_ptr += sample * outputs * pixels

    acc = tl.zeros((BLOCK_O, BLOCK_P), tl.float32)
    for done in range(0, channels, BLOCK_C):
        c = done + tl.arange(0, BLOCK_C)
        w_tile = weight_ptr + o[:, None] * channels + c[None, :]
        w = tl.load(w_tile, mask=(o < outputs)[:, None] & (c < channels)[None, :], other=0.0)
        x_tile = x_ptr + c.to(tl.int64)[:, None] * pixels + p[None, :]
        x = tl.load(x_tile, mask=(c < channels)[:, None] & (p < pixels)[None, :], other=0.0)
        acc = tl.dot(w, x, acc, input_precision="ieee")
    if bias_ptr is not None:
        acc += tl.load(bias_ptr + o, mask=o < outputs, other=0.0).to(tl.float32)[:, None]
    y_tile = y_ptr + o.to(tl.int64)[:, None] * pixels + p[None, :]
    tl.store(y_tile, acc, mask=(o < outputs)[:, None] & (p < pixels)[None, :])


class ModelNew(nn.Module):
    """1 x 1 convolution; `self.conv1d` (the problem's name for it) only holds the parameters."""

    def __init__(self, in_channels: int, out_channels: int, bias: bool = False) -> None:
        super().__init__()
        self.conv1d = nn.Conv2d(in_channels, out_channels, kernel_size=1, bias=bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x: (N, C, H, W), any float dtype -> (N, O, H, W) of that dtype."""
        x = x.contiguous()
        samples, channels, height, width = x.shape
        outputs, pixels = self.conv1d.out_channels, height * width
        y = torch.empty((samples, outputs, height, width), dtype=x.dtype, device=x.device)
        block_o = max(16, min(128, triton.next_power_of_2(outputs)))
        # FMA products unroll over the whole tile: a short one at fp32 keeps it in registers.
        longest = 32 if x.dtype == torch.float32 else 64
        block_c = max(16, min(longest, triton.next_power_of_2(channels)))
        block_p = 128
        grid = (samples * triton.cdiv(outputs, block_o) * triton.cdiv(pixels, block_p),)
        pointwise_kernel[grid](
            x,
            self.conv1d.weight.contiguous(),
            self.conv1d.bias,
            y,
            channels,
            outputs,
            pixels,
            BLOCK_O=block_o,
            BLOCK_C=block_c,
            BLOCK_P=block_p,
            num_warps=8,
            num_stages=2,
        )
        return y
