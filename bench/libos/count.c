/* A plugin of QEMU's TCG that counts instructions into a file, from which others read while the machine runs.
 *
 * -plugin count.so,out=FILE      FILE: two numbers of 64 bits, instructions executed and halts
 *
 * QEMU documents the interface (docs/devel/tcg-plugins.rst, version 1); Debian packages no header, so what is used is
 * declared here. One vCPU: with more, additions that are not atomic are lost.
 */
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct block;
struct instruction;

extern void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, void (*translated)(uint64_t, struct block *));
extern size_t qemu_plugin_tb_n_insns(const struct block *);
extern struct instruction *qemu_plugin_tb_get_insn(const struct block *, size_t);
extern const void *qemu_plugin_insn_data(const struct instruction *);
extern size_t qemu_plugin_insn_size(const struct instruction *);
extern void qemu_plugin_register_vcpu_tb_exec_inline(struct block *, int operation, void *number, uint64_t addend);
extern void qemu_plugin_register_vcpu_insn_exec_inline(struct instruction *, int operation, void *number, uint64_t addend);

enum { ADD = 0 };
enum { INSTRUCTIONS, HALTS, NUMBERS };

__attribute__((visibility("default"))) int qemu_plugin_version = 1;

static uint64_t *numbers;

static void translated(uint64_t id, struct block *block)
{
    size_t count = qemu_plugin_tb_n_insns(block);

    (void)id;
    qemu_plugin_register_vcpu_tb_exec_inline(block, ADD, &numbers[INSTRUCTIONS], count);
    for (size_t i = 0; i < count; i++) {
        struct instruction *instruction = qemu_plugin_tb_get_insn(block, i);

        if (qemu_plugin_insn_size(instruction) == 1 && *(const uint8_t *)qemu_plugin_insn_data(instruction) == 0xf4)
            qemu_plugin_register_vcpu_insn_exec_inline(instruction, ADD, &numbers[HALTS], 1);
    }
}

__attribute__((visibility("default"))) int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv)
{
    int file;

    (void)info;
    if (argc != 1 || strncmp(argv[0], "out=", 4) != 0)
        return 1;
    file = open(argv[0] + 4, O_RDWR | O_CREAT | O_TRUNC, 0644);
    if (file < 0 || ftruncate(file, NUMBERS * sizeof *numbers) != 0)
        return 1;
    numbers = mmap(NULL, NUMBERS * sizeof *numbers, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (numbers == MAP_FAILED)
        return 1;
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    return 0;
}
