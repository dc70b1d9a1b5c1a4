# SPDX-License-Identifier: MIT
"""Each parameter of each encoding, view and analysis at several values: ordinary ones, the first
and last of its range, and those just outside; and requests that are refused for their estimated
work, which the refusal contains."""

import itertools
import re

from request import ask, gets

# In the form of request.gets: a common prefix, then one suffix for each request of the line. An
# indented line continues the one before it.
VALUES = """
sinusoidal/table?positions=1,1000000.5&dtype=f64& dim=1 dim=2 dim=3 dim=0 dim=1048577
sinusoidal/table?dim=7&positions=3&dtype=f64& spacing=endpoint spacing=next-even base=1
    base=1.0000001 base=1e30 base=1.1e30
sinusoidal/table?dim=6&length=3& start=-9007199254740991 start=9007199254740989
    start=9007199254740990 start=0.1&step=0.1 step=0 step=-2.5 step=1e-300
    dtype=bf16&start=70000 dtype=f16&start=0.3
sinusoidal/table?dim=12&length=9&pool=mean& rows=2 rows=4&columns=5 columns=7&dtype=u8
    rows=9&columns=12 rows=10
sinusoidal/table?dim=12&length=9& pool=min&rows=3 pool=max&rows=3 pool=minmax&rows=2&columns=5
    pool=minmax&rows=2&dtype=u8 pool=max dtype=u8 rows=3
sinusoidal/table?dim=4&length=2& base=1e base=1e+ base=1e- base=1ex base=.5e1 base=5.e0 base=1e400
    base=+3 base=0x10 base=1e0000000000000000000001 base=1e-400 base=30E-1 base=.
all-sin/table?positions=2,77777&dtype=f64& dim=2 dim=5 dim=1 dim=3&base=3
timestep/table?dim=6&positions=1,333.25&dtype=f64& downscale_freq_shift=0
    downscale_freq_shift=-1 downscale_freq_shift=2.9 downscale_freq_shift=3 scale=1e-30
    scale=1e9 max_period=1.5 max_period=1 flip_sin_to_cos=true&scale=0.25
timestep/table?positions=5&dtype=f64& dim=2 dim=2&downscale_freq_shift=0 dim=3 dim=9 dim=1
transformer-xl/table?dim=6&dtype=f64& length=1 length=2&direction=past
    length=3&spacing=next-even length=0 length=4503599627370497 length=3&direction=past&base=2
transformer-xl/table?dim=5&length=3&dtype=f64& spacing=paper spacing=next-even layout=concatenated
sinusoidal-2d/table?dim=8&height=3&width=2&dtype=f64& variant=mae normalize=true
    normalize=true&scale=1 base=20 variant=mae&base_size=5
    variant=mae&base_size=5&interpolation_scale=3 variant=mae&interpolation_scale=0.001
    class_token=true class_token=true&variant=mae variant=mae&max_size=3 variant=mae&max_size=4
    variant=mae&max_size=2 normalize=true&variant=mae max_size=9
sinusoidal-2d/table?height=1&width=1& dim=4 dim=2 dim=6 dim=8&variant=mae dim=12&normalize=true
sinusoidal-nd/table?shape=2,2&dtype=f64& dim=4 dim=5 dim=6 dim=7 dim=1 dim=9&layout=concatenated
    dim=12&spacing=endpoint dim=8&base=5
sinusoidal-nd/table?dim=12&dtype=f64& ndim=1&shape=3 ndim=3&shape=1,2,2
    ndim=3&coordinates=0.5,1,-2 ndim=2&coordinates=1,2,3 ndim=4&shape=1,1,1,1 ndim=3&shape=2,2
    ndim=1&coordinates=5;6
fourier/table?coordinates=0.25,-0.7;0.5,3&ndim=2&dtype=f64& bands=1 bands=4 bands=3&unit=radian
    bands=3&unit=turn bands=3&scale=0.5 bands=3&max_resolution=20,30 bands=3&max_resolution=20
    bands=2&include_input=last bands=2&layout=interleaved
    bands=2&layout=grouped&flip_sin_to_cos=true frequencies=1,2.5,7
    frequencies=1,2.5&order=alternating frequencies=0 matrix=1,2;3,4
    matrix=1,2,3;3,4,5&scale=2&unit=half-turn matrix=1,2,3 bands=62 bands=63
    frequencies=4611686018427387904 frequencies=-4611686018427387904
    frequencies=2305843009213693952&scale=2 frequencies=4611686018427387904&scale=1.0000001
    frequencies=1e-30 frequencies=9e-31 frequencies=1e-21&scale=1e-9
    matrix=4611686018427387904;1 matrix=4611686018427387905;1
fourier/table?bands=2&ndim=2&shape=2,3&dtype=f64& axes_coordinates=centres&axes_size=2,3
    axes_coordinates=ends&axes_size=2,3 axes_coordinates=ends&axes_size=2,1
    axes_coordinates=logarithm axes_coordinates=index axes_coordinates=centres max_resolution=4
index/table?dtype=f64& positions=-1,0.5 start=5&length=2 length=0
normalized/table?dtype=f64& length=1 length=2 length=5&positions=0,4 length=5&positions=5
    length=5&positions=-1 length=5&positions=1..3 length=5&positions=3..5 length=5&positions=1.5
    length=0
binary/table?dtype=u8& dim=3&positions=7,5 dim=3&positions=8 dim=3&positions=-1
    dim=3&positions=0.5 dim=3&bit_order=lsb&length=8 dim=3&length=9
    dim=53&positions=9007199254740991 dim=54&positions=9007199254740991 dim=3&positions=6..7
periodic/table?dtype=f64& dim=1&length=3 dim=2&positions=2,3 dim=3&positions=1..4
    dim=64&positions=-1 dim=65&length=1
learned/table?table=sample&positions=0,3& scale=-2 scale=0 scale=1e30 l2norm=true&scale=3
    version=1 version=9 dim=4 dim=5
learned/table?table=sample&grid=2,2&to=3,4&length=12&dtype=f64&antialias=false&
    mode=bilinear&align_corners=false mode=bilinear&align_corners=true
    mode=bicubic&align_corners=true mode=bicubic&align_corners=false
    mode=bicubic&align_corners=false&interpolate_offset=0.1 mode=bilinear
    mode=bilinear&align_corners=true&interpolate_offset=0.1
learned/table?table=sample&dtype=f64&mode=bilinear&align_corners=false&antialias=true&
    grid=2,2&to=1,1&length=1 grid=2,2&to=1,2&length=2 grid=2,2&to=5,3&length=15
    grid=2,2&to=2,2&length=4 grid=2,2&to=0,2 grid=1,3&prefix=1&to=2,1&length=3
    grid=1,3&prefix=1&to=1,3&length=4 grid=1,3&to=1,2 grid=2,2,1&to=1,1,1 grid=2,2&to=3
learned/table?table=sample&dtype=f64&mode=bicubic&align_corners=false&antialias=true&
    grid=2,2&to=1,1&length=1 grid=2,2&to=7,1&length=7 grid=4,1&to=2,1&length=2
hierarchical/table?table=sample&dtype=f64& positions=0,5,15 positions=15&alpha=0
    positions=7&alpha=0.9 positions=7&alpha=1 positions=16&alpha=0.25 positions=1000
    positions=-1
rope/table?dim=8&positions=3,70000.5&dtype=f64& base=1.5 base=1 rotary_dim=4 rotary_dim=8
    rotary_dim=10 rotary_dim=3 partial_rotary_factor=0.5 partial_rotary_factor=0.3
    partial_rotary_factor=1 partial_rotary_factor=0.1 part=cos part=sin part=complex
    duplicate=true part=cos&duplicate=true part=complex&duplicate=true
rope/table?dim=8&length=3& cache=hf cache=vllm cache=meta cache=onnx cache=ggml
    cache=hf&part=cos cache=vllm&dtype=f16 cache=meta&start=9&dtype=bf16
rope/frequencies?dim=8&dtype=f64& inv_freq=1,0.5,0.25,0.125 inv_freq=1,0.5 freq_factors=1,2,4,8
    freq_factors=1,2,4 rope_type=custom rope_type=custom&inv_freq=4,3,2,1 rope_type=linear
    rope_type=linear&factor=3 rope_type=linear&factor=0 rope_type=ntk&factor=3
    rope_type=ntk&alpha=3 rope_type=ntk_fixed&factor=3 rope_type=ntk_fixed&factor=3&mixed_b=0.5
    rope_type=ntk_fixed&factor=3&mixed_b=0 rope_type=proportional&partial_rotary_factor=0.25
    rope_type=proportional&partial_rotary_factor=0.7&factor=2 rope_type=proportional factor=3
rope/frequencies?dim=8&dtype=f64&rope_type=dynamic&factor=3&max_position_embeddings=100&
    seq_len=99 seq_len=100 seq_len=101 seq_len=1000 seq_len=0 seq_len=300&arithmetic=hf
    seq_len=300&rotary_dim=4
rope/frequencies?dim=8&dtype=f64&rope_type=dynamic& factor=3 max_position_embeddings=100
    factor=3&original_max_position_embeddings=100&seq_len=200
rope/frequencies?dim=8&dtype=f64&rope_type=llama3&factor=4&original_max_position_embeddings=64&
    low_freq_factor=1&high_freq_factor=4 low_freq_factor=2&high_freq_factor=3
    low_freq_factor=4&high_freq_factor=4 low_freq_factor=4&high_freq_factor=1 low_freq_factor=1
    low_freq_factor=1&high_freq_factor=8&arithmetic=hf
    low_freq_factor=1&high_freq_factor=4&base=100
rope/frequencies?dim=16&dtype=f64&rope_type=yarn&original_max_position_embeddings=256& factor=4
    factor=1 factor=0.5 factor=4&beta_fast=8 factor=4&beta_slow=4
    factor=4&beta_fast=2&beta_slow=2 factor=4&beta_fast=1&beta_slow=2 factor=4&truncate=false
    factor=4&truncate=false&arithmetic=hf factor=4&mscale=2 factor=4&mscale_all_dim=2
    factor=4&mscale=2&mscale_all_dim=0.5 factor=4&mscale=0&mscale_all_dim=0
    factor=4&attention_factor=3 max_position_embeddings=512 max_position_embeddings=512&factor=4
    max_position_embeddings=128 factor=4&base=2 factor=4&rotary_dim=8
    factor=4&partial_rotary_factor=0.5
rope/table?dim=16&positions=500&dtype=f64&part=cos&rope_type=yarn&original_max_position_embeddings=256&
    factor=4 factor=4&attention_factor=3 factor=4&mscale=2&mscale_all_dim=0.5 factor=1
rope/frequencies?dim=4&dtype=f64&rope_type=longrope&short_factor=1,2&long_factor=3,4&original_max_position_embeddings=64&
    factor=4&seq_len=64 factor=4&seq_len=65 seq_len=65 factor=4 max_position_embeddings=256
    max_position_embeddings=32 factor=1 attention_factor=2&seq_len=1
rope/frequencies?dim=4&rope_type=longrope& short_factor=1,2&original_max_position_embeddings=64
    short_factor=1,2&long_factor=3&original_max_position_embeddings=64&factor=2
    long_factor=1,2&factor=2
mrope/table?dim=12&dtype=f64&positions=1,2;5,7;9,4& mrope_section=2,2,2 mrope_section=1,2,3
    mrope_section=4,1,1 mrope_section=2,2,2&mrope_interleaved=true
    mrope_section=2,2,2&mrope_type=interleaved mrope_section=2,2,2&mrope_type=chunked
    mrope_section=2,2,2&mrope_type=ernie mrope_section=3,2,1&mrope_type=axial
    mrope_section=2,2,2&mrope_type=imrope mrope_section=2,2,1,1 mrope_section=2,2,2&rotary_dim=8
    mrope_section=2,1,1&rotary_dim=8
mrope/table?dim=12&dtype=f64&mrope_section=2,2,2&
    rope_type=yarn&factor=4&original_max_position_embeddings=64&length=2
    rope_type=linear&factor=4&positions=1;2;3 length=3&start=1.5 length=2&mrope_type=vision
    length=2&part=sin&duplicate=true length=2&cache=hf
rope-2d/table?width=2&height=2&dtype=f64& dim=8&variant=axial dim=8&variant=llama4
    dim=8&variant=pixtral dim=8&variant=qwen2-vl dim=8&variant=kimi-k25
    dim=8&variant=efficientloftr dim=4&variant=pixtral dim=12&variant=axial dim=6&variant=llama4
    dim=8&variant=qwen2-vl&base=7 dim=8&part=complex dim=8&cache=hf
rope-2d/table?dim=8&dtype=f64& positions=1,2;3,4 positions=1,2 positions=1,2;3 width=0&height=2
    width=3 positions=1.5,-2;0,7&variant=qwen2-vl
rope-nd/table?axes_dim=4,4&shape=2,3&dtype=f64& base=3 axes_base=3,5 series=falling
    series=rising&min_period=2&max_period=90 series=linear unit=quarter-turn
    unit=half-turn&series=linear unit=turn axes_factor=2,0.5 order=alternating dim=12 dim=6
    axes_coordinates=centres&axes_size=2,3 axes_coordinates=ends&axes_size=2,3
    axes_coordinates=ends&axes_size=3,1 axes_coordinates=fractions&axes_size=20,30
    axes_coordinates=ratio&axes_size=2,3&axes_reference=16,16
    axes_coordinates=ratio&axes_size=2,3 axes_coordinates=centres origin=0.5,2 steps=2,-1
    origin=1&steps=1 axes_coordinates=centres&axes_size=2,3&origin=1,1 min_period=2&max_period=1
    min_period=2 axes_reference=4,4 order=alternating&axes_dim=4,8
rope-nd/table?dtype=f64& axes_dim=2&shape=3 axes_dim=2,4,6&positions=1;2;3
    axes_dim=4,4&positions=1,2,3;4,5 axes_dim=4,4&shape=2 axes_dim=4,4&shape=0,2
    axes_dim=4,5&shape=1,1 axes_dim=4,4&axes_base=3,5,7&shape=1,1
    axes_dim=4,4&axes_base=3&base=5&shape=1,1
xpos/table?dim=8&positions=0,7.5&dtype=f64& t_center=0 t_center=7.5 t_center=-3&side=key
    t_center=2&scale_base=1 t_center=2&scale_base=0.5 t_center=2&scale_base=1e9
    t_center=2&base=9 t_center=2&part=sin&side=key t_center=2&duplicate=true
xpos/scale?dim=6&dtype=f64&t_center=2& length=3 length=3&side=key length=2&scale_base=8
    positions=-1000000
alibi/bias?query_length=2&key_length=5&dtype=f64& heads=1 heads=2 heads=3 heads=6 heads=12
    heads=0 heads=3&alibi_bias_max=4 heads=3&alibi_bias_max=0 heads=3&alibi_bias_max=1001
    heads=2&slopes=0.5,-1 heads=2&slopes=1 heads=2&query_start=-1
    heads=2&query_start=9&causal=true heads=1&dtype=bf16 heads=3&pool=mean&columns=2
    heads=1&query_start=9007199254740991
t5/bias?query_length=3&key_length=7& num_buckets=2 num_buckets=3 num_buckets=4&max_distance=8
    num_buckets=8&max_distance=4 num_buckets=32&max_distance=17
    num_buckets=8&bidirectional=false&query_start=20
    num_buckets=8&max_distance=20&bidirectional=false&query_start=30 num_buckets=1
    num_buckets=6&max_distance=2 query_start=500 query_start=-500
kerple-log/bias?query_length=2&key_length=4&dtype=f64& heads=2&p=1,2&a=3,4 heads=2&p=1&a=2
    heads=2&p=0&a=2 heads=2&p=1&a=0 heads=2&p=1,2,3&a=1 heads=1&p=1&a=2&query_start=50
    heads=1&p=1e-9&a=1e9
kerple-power/bias?query_length=2&key_length=4&dtype=f64& heads=2&a=1,2&p=0.5,2 heads=2&a=1&p=2.1
    heads=2&a=0&p=1 heads=1&a=0.1&p=0.001&query_start=90
sandwich/bias?query_length=2&key_length=4&dtype=f64& heads=2&dim=2 heads=3&dim=8 heads=2&dim=3
    heads=2&dim=8&base=5 heads=2&dim=8&scales=1,2 heads=2&dim=8&scales=1
    heads=2&dim=8&query_start=1000
deberta-log/bias?query_length=3&key_length=6& position_buckets=2
    position_buckets=4&max_relative_positions=5 position_buckets=4&max_relative_positions=3
    position_buckets=8&max_relative_positions=30&direction=j-i position_buckets=1
    query_start=300 query_start=300&position_buckets=16&max_relative_positions=100
shaw/bias?query_length=3&key_length=5& max_relative_position=1
    max_relative_position=3&direction=i-j max_relative_position=2&query_start=4
    max_relative_position=0 max_relative_position=2&vectors=sinusoidal&dim=4
shaw/table?max_relative_position=2&vectors=sinusoidal&dtype=f64& dim=1 dim=5&base=3
    dim=4&direction=i-j
"""

ANALYSES = """
sinusoidal/analysis/similarity?dim=6&length=4&dtype=f64& anchor=0 anchor=-3.5 normalize=true
    anchor=2&normalize=true start=9&step=0.5 pool=max&rows=2&columns=2
rope/analysis/similarity?dim=8&length=4&dtype=f64& anchor=1 anchor=1&normalize=true rotary_dim=4
    rope_type=linear&factor=3 rope_type=yarn&factor=4&original_max_position_embeddings=64
rope/analysis/similarity?dim=4&length=3& anchor=1e-17&start=3 anchor=0.1&start=9007199254740989
    anchor=0.1&start=9007199254740989&dtype=bf16 anchor=0.5&start=9007199254740989
    anchor=9007199254740989&start=0.1&step=0.1 anchor=9007199254740989&start=0.25&step=0.5
index/analysis/similarity?dtype=f64& length=3&anchor=2 positions=0,1&normalize=true positions=3
sinusoidal/analysis/decay?dim=6&dtype=f64& max_offset=3 min_offset=3&max_offset=3 max_offset=-1
    min_offset=-9&max_offset=9&samples=4 max_offset=1000&samples=5&sample_spacing=log
    min_offset=-1000&max_offset=1000&samples=7&sample_spacing=log max_offset=1000&samples=2
    max_offset=1000&samples=1 max_offset=3&samples=100 max_offset=4&normalize=true&anchor=5
    min_offset=10&max_offset=100&samples=3&sample_spacing=log max_offset=5&sample_spacing=log
rope/analysis/decay?dim=8&dtype=f64& max_offset=4&anchor=7 max_offset=4&normalize=true
    max_offset=4&rotary_dim=4
    max_offset=4&normalize=true&rope_type=yarn&factor=4&original_max_position_embeddings=64
    max_offset=100000&samples=6&sample_spacing=log
binary/analysis/decay?dim=4&dtype=f64& anchor=8&min_offset=-8&max_offset=7 anchor=8&max_offset=8
    anchor=3&max_offset=4&samples=3
alibi/analysis/decay?dtype=f64& heads=3&max_offset=2 heads=1&min_offset=-5&max_offset=-2
    heads=2&max_offset=900&samples=4&sample_spacing=log
t5/analysis/decay?dtype=f64& max_offset=200&samples=9
    num_buckets=4&max_distance=9&min_offset=-9&max_offset=9 bidirectional=false&max_offset=3
kerple-power/analysis/decay?heads=2&a=1&p=1.5&dtype=f64& max_offset=3 min_offset=-2&max_offset=2
sandwich/analysis/decay?heads=2&dim=8&dtype=f64& max_offset=3 max_offset=3&scales=1,3
    min_offset=-2
sinusoidal/analysis/uniqueness?dim=4& length=2 length=1 length=3&step=0 positions=1,1,2
    length=100&rounded=true&dtype=bf16 length=9&start=1e15&dtype=f64 length=50&base=1.01
    positions=5,9,5.0000001&rounded=true
rope/analysis/uniqueness?dim=4& length=40&dtype=f16&rounded=true length=9&base=2&rotary_dim=2
    positions=0,44,88
periodic/analysis/uniqueness?dim=3& length=9 length=8 length=17&dtype=f64
binary/analysis/uniqueness?dim=3& length=8 positions=1,2,1
sinusoidal/analysis/wavelengths?dtype=f64& dim=6 dim=6&context=0 dim=6&context=62
    dim=6&context=63&base=20 dim=7&spacing=next-even
rope/analysis/wavelengths?dim=8&dtype=f64& context=100 max_position_embeddings=4096
    rotary_dim=4&context=7
    context=9&rope_type=llama3&factor=8&low_freq_factor=1&high_freq_factor=4&original_max_position_embeddings=64
    rope_type=yarn&factor=4&original_max_position_embeddings=64&max_position_embeddings=256
    context=9&rope_type=proportional&partial_rotary_factor=0.5
    context=9&rope_type=custom&inv_freq=1,0,0.5,0.1
periodic/analysis/wavelengths?dim=5&dtype=f64& context=6 context=8
mrope/analysis/wavelengths?dim=12&mrope_section=1,2,3&dtype=f64& context=10
    context=10&mrope_type=interleaved
rope-nd/analysis/wavelengths?dtype=f64& axes_dim=4,6&context=5
    axes_dim=4,4&unit=turn&series=linear&context=5 axes_dim=4,4&context=30
sinusoidal/analysis/error?dim=6&positions=1,99999.5& angle=exact angle=f64 angle=f32 angle=f16
    angle=bf16 angle=f32&dtype=f64 angle=exact&dtype=bf16 angle=bf16&dtype=bf16
rope/analysis/error?dim=6&positions=1,70000& angle=exact&dtype=f16 angle=f64&dtype=f64 angle=f16
    angle=bf16&rope_type=linear&factor=3 angle=f32&arithmetic=hf angle=f32&rotary_dim=4
    rope_type=yarn&factor=4&original_max_position_embeddings=64
timestep/analysis/error?dim=6&positions=1,999& angle=f32 angle=f16&flip_sin_to_cos=true
    angle=bf16&downscale_freq_shift=0
all-sin/analysis/error?dim=5&positions=1,99999& angle=f32 angle=f16
periodic/analysis/error?dim=5&positions=1,99999& angle=f32 angle=f16
sinusoidal/analysis/shift?dim=6&dtype=f64& position=0&delta=0 position=5&delta=-5
    position=0.5&delta=1e15 position=1&delta=1&spacing=endpoint&layout=concatenated
timestep/analysis/shift?dim=6&dtype=f64& position=3&delta=2
    position=3&delta=2&flip_sin_to_cos=true
rope/analysis/shift?dim=6&dtype=f64& position=3&delta=2 position=3&delta=2&rotary_dim=4
    position=3&delta=-0.25&rope_type=yarn&factor=4&original_max_position_embeddings=64
"""

# Lists of lists whose rows are too short, too long or uneven, though they have as many numbers as
# some rows of the right length.
NESTED = """
sinusoidal-nd/table?dim=12& ndim=2&coordinates=1,2,3;4,5,6 ndim=3&coordinates=1,2;3,4;5,6
    ndim=2&coordinates=1,2,3;4 ndim=2&coordinates=1,2,3,4 ndim=2&coordinates=1;2;3;4
fourier/table?bands=2& ndim=2&coordinates=1,2,3;4,5,6 ndim=3&coordinates=1,2;3,4;5,6
    ndim=2&coordinates=1,2,3,4 ndim=2&coordinates=1;2 ndim=2&coordinates=1,2,3;4
fourier/table?coordinates=1,2& matrix=1,2;3 matrix=1,2;3,4;5,6 matrix=1;2 ndim=3&matrix=1,2;3,4
rope-nd/table?axes_dim=4,4& positions=1,2,3;4,5,6 positions=1;2;3;4 positions=1,2;3,4;5,6
    positions=1,2,3;4 positions=1,2,3,4
rope-2d/table?dim=8& positions=1,2,3;4,5,6 positions=1;2;3;4 positions=1,2,3,4
mrope/table?dim=12&mrope_section=2,2,2& positions=1,2;3,4;5,6 positions=1,2,3;4,5,6
    positions=1;2;3;4;5;6 positions=1,2;3,4;5 positions=1,2,3,4,5,6
"""

# With --work-max 100000. Only views whose estimate is the same with every instruction set are here.
WORK = """
fourier/table?ndim=2&shape=300,400&format=npy&pool=mean& matrix=0.1,0.2;0.3,0.4&rows=4&columns=4
    bands=8&rows=2&columns=2 bands=8&max_resolution=20&rows=2&columns=2
hierarchical/table?table=sample&format=npy& length=16&pool=mean&rows=1
xpos/table?dim=64&t_center=2&format=npy& length=90000&pool=mean&rows=3&columns=3
t5/bias?format=npy& query_length=3000&key_length=400&pool=mean&rows=3&columns=3
kerple-log/bias?heads=4&p=1&a=2&format=npy&
    query_length=300&key_length=400&pool=mean&rows=3&columns=3
kerple-power/bias?heads=4&p=1&a=2&format=npy&
    query_length=300&key_length=400&pool=mean&rows=3&columns=3
sandwich/bias?heads=4&dim=16&format=npy&
    query_length=300&key_length=400&pool=mean&rows=3&columns=3
deberta-log/bias?format=npy& query_length=3000&key_length=400&pool=mean&rows=3&columns=3
sinusoidal/analysis/similarity?dim=64&format=npy& length=120 length=120&normalize=true
rope/analysis/similarity?dim=64&format=npy& length=120 length=120&normalize=true
binary/analysis/similarity?dim=40&format=npy& length=120
index/analysis/decay? max_offset=2500&format=npy
alibi/analysis/decay?heads=8&format=npy& max_offset=900 max_offset=100000&samples=900
t5/analysis/decay?format=npy& max_offset=450
sandwich/analysis/decay?heads=8&dim=32&format=npy& max_offset=1000
kerple-power/analysis/decay?heads=8&a=1&p=1.5&format=npy& max_offset=900
sinusoidal/analysis/uniqueness?dim=64& length=60 length=300 length=3000&dtype=bf16
rope/analysis/uniqueness?dim=64& length=60 length=300
binary/analysis/uniqueness?dim=40& length=300
periodic/analysis/error?dim=40&format=npy& length=90&angle=f32
"""


def each(group, text, prefix="/v1/encodings/", **rest):
    return gets(group, re.sub(r"\n +", " ", text), prefix, **rest)


def lines(text):
    """(prefix, suffixes) of each line."""
    for line in filter(None, re.sub(r"\n +", " ", text).splitlines()):
        first, *suffixes = line.split()
        yield first, suffixes


def names(suffix):
    return {pair.split("=")[0] for pair in suffix.split("&")}


def pairs(group, text, prefix="/v1/encodings/"):
    """Each two suffixes of a line together, unless they have a parameter in common; the first of
    those with the same parameters."""
    found = {}
    for first, suffixes in lines(text):
        for one, other in itertools.combinations(suffixes, 2):
            if names(one) & names(other):
                continue
            both = frozenset({first.split("?")[0], *names(one), *names(other)})
            found.setdefault(both, f"{first}{one}&{other}")
    return [ask(group, prefix + target) for target in found.values()]


def pooled(group, text, prefix="/v1/encodings/"):
    """The first of each line, by each pooling, of fewer rows and columns than it has."""
    return [
        ask(group, f"{prefix}{first}{suffixes[0]}&pool={how}&rows=2&columns=2")
        for first, suffixes in lines(text)
        if "pool=" not in suffixes[0]
        for how in ("mean", "minmax")
    ]


def requests():
    return [
        *each("values of parameters", VALUES),
        *each("values of parameters", ANALYSES),
        *each("values of parameters", NESTED),
        *pairs("pairs of parameters", VALUES + ANALYSES),
        *pooled("values of parameters", VALUES + ANALYSES),
        *each("estimated work", WORK, "/p/v1/encodings/", server="narrow"),
    ]
