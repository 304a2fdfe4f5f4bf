// What compilers call in every program. Most calls are for a few bytes: moves that overlap, and no loop. From 256 bytes
// on a string instruction does it, which processors do faster than any loop, once it has begun (Intel's optimization
// manual, "REP String Enhancement").
.equ LONG, 256
.text
.globl memmove
.globl memcpy
memmove:
    movq %rdi, %rax
    subq %rsi, %rax
    cmpq %rdx, %rax
    jb copy_backwards               // the destination begins inside the source
memcpy:
    movq %rdi, %rax
    cmpq $16, %rdx
    jb copy_short
    movups -16(%rsi, %rdx), %xmm1   // the last 16 bytes, stored last
    cmpq $LONG, %rdx
    jae copy_long
    leaq -16(%rdi, %rdx), %rcx
1:  cmpq %rcx, %rdi
    jae 2f
    movups (%rsi), %xmm0
    movups %xmm0, (%rdi)
    addq $16, %rsi
    addq $16, %rdi
    jmp 1b
2:  movups %xmm1, (%rcx)
    ret

copy_long:
    leaq -16(%rdi, %rdx), %r8
    movq %rdx, %rcx
    shrq $3, %rcx
    rep movsq
    movups %xmm1, (%r8)
    ret

copy_short:
    cmpq $8, %rdx
    jb 3f
    movq (%rsi), %rcx
    movq -8(%rsi, %rdx), %r8
    movq %rcx, (%rdi)
    movq %r8, -8(%rdi, %rdx)
    ret
3:  cmpq $4, %rdx
    jb 4f
    movl (%rsi), %ecx
    movl -4(%rsi, %rdx), %r8d
    movl %ecx, (%rdi)
    movl %r8d, -4(%rdi, %rdx)
    ret
4:  testq %rdx, %rdx
    jz 5f
    movq %rdx, %r9
    shrq $1, %r9
    movzbl (%rsi), %ecx             // the first, the middle and the last of up to three
    movzbl (%rsi, %r9), %r8d
    movzbl -1(%rsi, %rdx), %r10d
    movb %cl, (%rdi)
    movb %r8b, (%rdi, %r9)
    movb %r10b, -1(%rdi, %rdx)
5:  ret

copy_backwards:
    movq %rdi, %rax
    cmpq $16, %rdx
    jb copy_short
    movups (%rsi), %xmm1            // the first 16 bytes, stored last
6:  cmpq $16, %rdx
    jbe 7f
    movups -16(%rsi, %rdx), %xmm0
    movups %xmm0, -16(%rdi, %rdx)
    subq $16, %rdx
    jmp 6b
7:  movups %xmm1, (%rdi)
    ret

.globl memset
memset:
    movq %rdi, %rax
    movzbl %sil, %esi
    movabsq $0x0101010101010101, %rcx
    imulq %rcx, %rsi
    cmpq $16, %rdx
    jb 3f
    cmpq $LONG, %rdx
    jae set_long
    movq %rsi, %xmm0
    punpcklqdq %xmm0, %xmm0
    leaq -16(%rdi, %rdx), %rcx
1:  cmpq %rcx, %rdi
    jae 2f
    movups %xmm0, (%rdi)
    addq $16, %rdi
    jmp 1b
2:  movups %xmm0, (%rcx)
    ret
3:  cmpq $8, %rdx
    jb 4f
    movq %rsi, (%rdi)
    movq %rsi, -8(%rdi, %rdx)
    ret
4:  testq %rdx, %rdx
    jz 5f
    movb %sil, -1(%rdi, %rdx)
    decq %rdx
    jmp 4b
5:  ret

set_long:
    movq %rax, %r8
    movq %rsi, %rax
    movq %rsi, -8(%rdi, %rdx)
    movq %rdx, %rcx
    shrq $3, %rcx
    rep stosq
    movq %r8, %rax
    ret

.globl memcmp
.globl bcmp
memcmp:
bcmp:
    cmpq $8, %rdx
    jb 4f
1:  movq (%rdi), %rax
    movq (%rsi), %rcx
    cmpq %rcx, %rax
    jne 3f
    addq $8, %rdi
    addq $8, %rsi
    subq $8, %rdx
    cmpq $8, %rdx
    jae 1b
    testq %rdx, %rdx
    jz 6f
    movq -8(%rdi, %rdx), %rax       // the last eight: some of them were equal before
    movq -8(%rsi, %rdx), %rcx
    cmpq %rcx, %rax
    je 6f
3:  bswapq %rax
    bswapq %rcx
    cmpq %rcx, %rax
    sbbl %eax, %eax
    orl $1, %eax
    ret
4:  testq %rdx, %rdx
    jz 6f
    movzbl (%rdi), %eax
    movzbl (%rsi), %ecx
    subl %ecx, %eax
    jne 5f
    incq %rdi
    incq %rsi
    decq %rdx
    jmp 4b
5:  ret
6:  xorl %eax, %eax
    ret

.globl strlen
strlen:
    xorl %eax, %eax
1:  cmpb $0, (%rdi, %rax)
    je 2f
    incq %rax
    jmp 1b
2:  ret

// The precompiled core names these; with panic = "abort" nothing calls them.
.globl _Unwind_Resume
.globl rust_eh_personality
_Unwind_Resume:
rust_eh_personality:
    ud2
