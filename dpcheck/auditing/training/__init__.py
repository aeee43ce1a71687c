"""One step of a private training, taken apart: noise, clipping, divisor, sampler, layers that mix."""
