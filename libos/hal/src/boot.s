// From the loaders' 32-bit entry to 64-bit code with all memory mapped to itself. PVH (Xen's doc/misc/pvh.pandoc) finds
// the entry in a note, multiboot2 (its specification, section 3.1) takes the ELF file's.
.section .note.Xen, "a", @note
.align 4
.long 4, 4, 18                      // XEN_ELFNOTE_PHYS32_ENTRY
.asciz "Xen"
.long loader_entry

.section .multiboot2, "a"
.align 8
multiboot2:
    .long 0xE85250D6, 0             // 32-bit protected mode
    .long multiboot2_end - multiboot2
    .long 0x100000000 - (0xE85250D6 + multiboot2_end - multiboot2)
    .word 1, 0                      // what the loader must tell: words, memory
    .long 16, 1, 6
    .word 0, 0                      // that is all
    .long 8
multiboot2_end:

.section .boot, "ax"
.code32
.globl loader_entry
loader_entry:
    cli
    cld
    movl $boot_stack_top, %esp
    movl %eax, %edi                 // which loader it is
    movl %ebx, %esi                 // and where its information is

    movl $0x80000001, %eax          // every page is one of 1 GiB: does this CPU have them?
    cpuid
    testl $(1 << 26), %edx
    jz no_large_pages

    movl $page_directory, %eax
    orl $3, %eax                    // present, writable
    movl %eax, page_map
    xorl %ecx, %ecx
1:  movl %ecx, %eax
    shll $30, %eax
    orl $0x83, %eax                 // present, writable, large
    movl %eax, page_directory(, %ecx, 8)
    movl %ecx, %eax
    shrl $2, %eax
    movl %eax, page_directory + 4(, %ecx, 8)
    incl %ecx
    cmpl $512, %ecx
    jne 1b

    movl $0x620, %eax               // PAE, OSFXSR, OSXMMEXCPT
    movl %eax, %cr4
    movl $page_map, %eax
    movl %eax, %cr3
    movl $0xC0000080, %ecx          // EFER: long mode
    rdmsr
    orl $0x100, %eax
    wrmsr
    movl %cr0, %eax
    andl $0x9ffffff3, %eax          // caches on, no emulation of the FPU
    orl $0x80000003, %eax           // paging, FPU, protection
    movl %eax, %cr0
    lgdt gdt_pointer
    ljmp $8, $long_mode

no_large_pages:
    movl $no_large_pages_message, %esi
    movw $0x3f8, %dx
2:  lodsb
    testb %al, %al
    jz 3f
    outb %al, %dx
    jmp 2b
3:  hlt
    jmp 3b

.code64
long_mode:
    movw $16, %ax
    movw %ax, %ds
    movw %ax, %es
    movw %ax, %ss
    movq $boot_stack_top, %rsp
    movl %edi, %edi                 // the upper halves were anything
    movl %esi, %esi
    xorl %ebp, %ebp
    call libos_main
4:  hlt
    jmp 4b

// Another core, sent to `trampoline` at the page that it was copied to, in real mode (Intel's manual 3A, "Multiple-
// Processor Initialization"): to 64-bit code by the first core's tables, at once.
.equ TRAMPOLINE_AT, 0x8000
.code16
.globl trampoline, trampoline_end
trampoline:
    cli
    xorw %ax, %ax
    movw %ax, %ds
    movl $page_map, %eax
    movl %eax, %cr3
    movl %cr4, %eax
    orl $0x620, %eax                // PAE, OSFXSR, OSXMMEXCPT
    movl %eax, %cr4
    movl $0xC0000080, %ecx          // EFER: long mode
    rdmsr
    orl $0x100, %eax
    wrmsr
    lgdtl TRAMPOLINE_AT + (trampoline_gdt - trampoline)
    movl %cr0, %eax
    andl $0x9ffffffb, %eax          // caches on, no emulation of the FPU
    orl $0x80000003, %eax           // paging, FPU, protection
    movl %eax, %cr0
    ljmpl $8, $core_entry
trampoline_gdt:
    .word 23
    .long gdt
trampoline_end:

.code64
core_entry:
    movw $16, %ax
    movw %ax, %ds
    movw %ax, %es
    movw %ax, %ss
    movl $1, %edi
    lock xaddl %edi, CORES_ARRIVED(%rip)
    cmpl CORES_WANTED(%rip), %edi
    jae 6f
    movl %edi, %eax
    movq CORE_STACKS(, %rax, 8), %rsp
    xorl %ebp, %ebp
    call libos_core
6:  hlt
    jmp 6b

// A device or the timer: core::arch::asm! opens interrupts for one halt at a time (cpu.rs), so nothing but the return
// address is in use. The interrupted code goes on with interrupts closed. Those of devices are counted.
.globl device_entry
device_entry:
    incq %gs:0                      // the core's own count (cores.rs)
.globl interrupt_entry
interrupt_entry:
    pushq %rax
    movl $0xFEE000B0, %eax
    movl $0, (%rax)                 // end of interrupt
    popq %rax
    andq $~0x200, 16(%rsp)
    iretq

// An exception: what the CPU pushed is its only argument.
.globl exception_entry
exception_entry:
    cld
    movq %rsp, %rdi
    andq $-16, %rsp
    call exception
5:  hlt
    jmp 5b

.section .rodata
no_large_pages_message: .asciz "libos: the CPU must have pages of 1 GiB (pdpe1gb); QEMU: -cpu max\n"
.align 16
gdt:
    .quad 0
    .quad 0x00af9a000000ffff        // code, 64 bits
    .quad 0x00cf92000000ffff        // data
gdt_pointer:
    .word 23
    .long gdt

.section .bss
.align 4096
page_map: .skip 4096
page_directory: .skip 4096
.skip 262144
boot_stack_top:
.text
