/* A plugin of QEMU's TCG that counts instructions into a file, from which others read while the machine runs.
 *
 * -plugin count.so,out=FILE[,ranges=FILE]    out: numbers of 64 bits: halts, returns from interrupts and exceptions, and
 *                                            the instructions executed of each layer
 *                                            ranges: pairs of 64 bits, ascending: where one begins that ends where the
 *                                            next one does, and its layer; all else is of layer 0
 *
 * A string instruction (rep movs) counts once, as a processor counts it, however often it repeats: QEMU executes the
 * repetitions as blocks of that instruction alone, which are left out. Where a jump leads to it, its first pass is too.
 *
 * QEMU documents the interface (docs/devel/tcg-plugins.rst, version 1); Debian packages no header, so what is used is
 * declared here. One vCPU: with more, additions that are not atomic are lost.
 */
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct block;
struct instruction;

extern void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, void (*translated)(uint64_t, struct block *));
extern size_t qemu_plugin_tb_n_insns(const struct block *);
extern struct instruction *qemu_plugin_tb_get_insn(const struct block *, size_t);
extern const void *qemu_plugin_insn_data(const struct instruction *);
extern size_t qemu_plugin_insn_size(const struct instruction *);
extern uint64_t qemu_plugin_insn_vaddr(const struct instruction *);
extern void qemu_plugin_register_vcpu_tb_exec_inline(struct block *, int operation, void *number, uint64_t addend);
extern void qemu_plugin_register_vcpu_insn_exec_inline(struct instruction *, int operation, void *number, uint64_t addend);

enum { ADD = 0 };
enum { LAYERS = 16 };
enum { HALTS, RETURNS, INSTRUCTIONS, NUMBERS = INSTRUCTIONS + LAYERS };

struct range {
    uint64_t start, layer;
};

__attribute__((visibility("default"))) int qemu_plugin_version = 1;

static uint64_t *numbers;
static const struct range *ranges;
static size_t range_count;

/* Whether an instruction is a string instruction that repeats (Intel SDM, volume 2, REP). */
static int repeats(const struct instruction *instruction)
{
    const uint8_t *code = qemu_plugin_insn_data(instruction);
    size_t size = qemu_plugin_insn_size(instruction), at = 0;
    int prefixed = 0;

    for (; at < size; at++) {
        if (code[at] == 0xf2 || code[at] == 0xf3)
            prefixed = 1;
        else if (code[at] != 0x66 && code[at] != 0x67 && (code[at] & 0xf0) != 0x40)
            break;
    }
    return prefixed && at == size - 1 &&
           ((code[at] >= 0xa4 && code[at] <= 0xa7) || (code[at] >= 0xaa && code[at] <= 0xaf));
}

static int is(const struct instruction *instruction, const char *code, size_t size)
{
    return qemu_plugin_insn_size(instruction) == size && memcmp(qemu_plugin_insn_data(instruction), code, size) == 0;
}

static uint64_t layer_of(uint64_t address)
{
    size_t low = 0, high = range_count; /* of the first range that begins behind the address */

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (ranges[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? ranges[low - 1].layer : 0;
}

static void translated(uint64_t id, struct block *block)
{
    size_t count = qemu_plugin_tb_n_insns(block);
    uint64_t executed[LAYERS] = {0};

    (void)id;
    if (count == 1 && repeats(qemu_plugin_tb_get_insn(block, 0)))
        return;
    for (size_t i = 0; i < count; i++) {
        struct instruction *instruction = qemu_plugin_tb_get_insn(block, i);

        executed[layer_of(qemu_plugin_insn_vaddr(instruction))]++;
        if (is(instruction, "\xf4", 1))
            qemu_plugin_register_vcpu_insn_exec_inline(instruction, ADD, &numbers[HALTS], 1);
        if (is(instruction, "\x48\xcf", 2)) /* iretq */
            qemu_plugin_register_vcpu_insn_exec_inline(instruction, ADD, &numbers[RETURNS], 1);
    }
    for (size_t layer = 0; layer < LAYERS; layer++)
        if (executed[layer] > 0)
            qemu_plugin_register_vcpu_tb_exec_inline(block, ADD, &numbers[INSTRUCTIONS + layer], executed[layer]);
}

static int read_ranges(const char *path)
{
    struct stat of;
    int file = open(path, O_RDONLY);

    if (file < 0 || fstat(file, &of) != 0 || of.st_size == 0)
        return 1;
    ranges = mmap(NULL, of.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    if (ranges == MAP_FAILED)
        return 1;
    range_count = of.st_size / sizeof *ranges;
    for (size_t i = 0; i < range_count; i++)
        if (ranges[i].layer >= LAYERS)
            return 1;
    return 0;
}

__attribute__((visibility("default"))) int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv)
{
    int file;

    (void)info;
    if (argc < 1 || argc > 2 || strncmp(argv[0], "out=", 4) != 0)
        return 1;
    if (argc == 2 && (strncmp(argv[1], "ranges=", 7) != 0 || read_ranges(argv[1] + 7) != 0))
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
