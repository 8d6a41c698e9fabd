#include <cstdint>

#include "tests/support/cuda/switching.h"

// Pushes the callee-saved registers (System V ABI, x86-64, 3.2.1) onto the stack that is left, pops
// those of the other stack, and returns to the address at which that one was left.
asm(R"(
  .text
  .hidden detol_switch_stacks
  .globl detol_switch_stacks
  .type detol_switch_stacks, @function
detol_switch_stacks:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size detol_switch_stacks, .-detol_switch_stacks
)");

extern "C" void detol_switch_stacks(void** left_at, void* to);

namespace detol::emulated {

void prepare(Stack& stack, void* memory, std::size_t bytes, void (*main)()) {
  const auto end = (reinterpret_cast<std::uintptr_t>(memory) + bytes) / 16 * 16;
  auto* top = reinterpret_cast<void**>(end) - 1;  // a function begins 8 bytes off a multiple of 16
  *top = nullptr;                                 // no return address
  *--top = reinterpret_cast<void*>(main);
  for (int kept = 0; kept < 6; ++kept) *--top = nullptr;
  stack.left_at = top;
}

void switch_stacks(Stack& from, Stack& to) {
  detol_switch_stacks(&from.left_at, to.left_at);
}

}  // namespace detol::emulated
