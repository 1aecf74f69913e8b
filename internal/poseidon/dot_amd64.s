//go:build !purego

#include "textflag.h"

// The modulus, least significant limb first.
DATA modulus<>+0(SB)/8, $0xffffffff00000001
DATA modulus<>+8(SB)/8, $0x53bda402fffe5bfe
DATA modulus<>+16(SB)/8, $0x3339d80809a1d805
DATA modulus<>+24(SB)/8, $0x73eda753299d7d48
GLOBL modulus<>(SB), RODATA, $32

// mac adds DX times the four limbs at m0..m3 to the accumulator r0..r5 on two carry chains.
#define mac(m0, m1, m2, m3, r0, r1, r2, r3, r4, r5) \
	XORQ  AX, AX;     \
	MULXQ m0, AX, BX; \
	ADCXQ AX, r0;     \
	ADOXQ BX, r1;     \
	MULXQ m1, AX, BX; \
	ADCXQ AX, r1;     \
	ADOXQ BX, r2;     \
	MULXQ m2, AX, BX; \
	ADCXQ AX, r2;     \
	ADOXQ BX, r3;     \
	MULXQ m3, AX, BX; \
	ADCXQ AX, r3;     \
	ADOXQ BX, r4;     \
	MOVQ  $0, AX;     \
	ADCXQ AX, r4;     \
	ADOXQ AX, r5;     \
	ADCXQ AX, r5

// limb adds, over all terms, limb number off/8 of the first factor times the second, then a multiple of the modulus that clears r0,
// which so becomes the highest limb of the shifted accumulator r1..r5, r0.
#define limb(loop, off, r0, r1, r2, r3, r4, r5) \
	MOVQ a+8(FP), SI;  \
	MOVQ b+16(FP), DI; \
	MOVQ n+24(FP), CX; \
loop: \
	MOVQ off(SI), DX; \
	mac(0(DI), 8(DI), 16(DI), 24(DI), r0, r1, r2, r3, r4, r5); \
	ADDQ $32, SI; \
	ADDQ $32, DI; \
	DECQ CX;      \
	JNE  loop;    \
	MOVQ  $0xfffffffeffffffff, DX; \
	IMULQ r0, DX; \
	mac(modulus<>+0(SB), modulus<>+8(SB), modulus<>+16(SB), modulus<>+24(SB), r0, r1, r2, r3, r4, r5)

// func dotADX(z *[5]uint64, a, b *fr.Element, n int)
//
// z = (sum of a[i]*b[i] + a multiple of the modulus) / 2^256; at most (n/2+1) times the modulus. n > 0.
TEXT ·dotADX(SB), NOSPLIT, $0-32
	XORQ R8, R8
	XORQ R9, R9
	XORQ R10, R10
	XORQ R11, R11
	XORQ R12, R12
	XORQ R13, R13
	limb(limb0, 0, R8, R9, R10, R11, R12, R13)
	limb(limb1, 8, R9, R10, R11, R12, R13, R8)
	limb(limb2, 16, R10, R11, R12, R13, R8, R9)
	limb(limb3, 24, R11, R12, R13, R8, R9, R10)
	MOVQ z+0(FP), DI
	MOVQ R12, 0(DI)
	MOVQ R13, 8(DI)
	MOVQ R8, 16(DI)
	MOVQ R9, 24(DI)
	MOVQ R10, 32(DI)
	RET
