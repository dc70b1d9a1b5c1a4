// SPDX-License-Identifier: MIT
// Titles of the catalogue's encodings in Chinese; in English they are those of the API.
import { t } from "../../words";

const CHINESE: Record<string, string> = {
    sinusoidal: "频率按几何级数分布的正弦与余弦",
    "all-sin": "每列一个正弦，频率各不相同",
    timestep: "扩散模型的时间步：先全部正弦，再全部余弦",
    "transformer-xl": "距离的正弦与余弦，最远的在前",
    "sinusoidal-2d": "两个坐标的正弦与余弦，各占半行",
    "sinusoidal-nd": "至多三个坐标的正弦与余弦，各列由它们分配",
    fourier: "坐标的傅里叶特征，频率成组给出，或来自给定的矩阵",
    index: "位置本身，一列",
    normalized: "位置均匀分布在 0 到 1 之间，一列",
    binary: "位置的二进制数位，每列一位",
    periodic: "频率逐列减半的正弦：变得平滑的二进制数位",
    learned: "学习得到的表，按位置取行",
    hierarchical: "把学习得到的 n 行表分解，得到 n² 行",
    rope: "旋转位置编码：查询或键的维度对随位置转动",
    mrope: "多模态旋转编码：每个维度对随位置的一个坐标转动",
    "rope-2d": "图像的旋转位置编码：一半维度对随 x 转动，一半随 y",
    "rope-nd": "轴向旋转编码：各轴并排，每轴有自己的宽度，随各自的坐标转动",
    xpos: "可外推的位置编码：查询缩小多少，键就放大多少的 rope",
    alibi: "线性偏置的注意力：键越远，分量越小",
    t5: "每个距离桶有一个学习得到的偏置，越远桶越宽",
    "kerple-log": "KERPLE 对数核：偏置随距离的对数下降",
    "kerple-power": "KERPLE 幂核：偏置随距离的幂下降",
    sandwich: "只取两个正弦位置的点积",
    "deberta-log": "带符号的距离桶，越远越宽",
    shaw: "相对位置向量：每个截断的距离各有一个键向量和一个值向量",
};

export const titleOf = ({ name, title }: { name: string; title: string }): string =>
    t(title, CHINESE[name] ?? title);
