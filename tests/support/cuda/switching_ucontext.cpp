#include <ucontext.h>

#include "tests/support/cuda/switching.h"

namespace detol::emulated {
namespace {

// Never freed: stacks are kept for the next kernel.
ucontext_t& context_of(Stack& stack) {
  if (stack.left_at == nullptr) stack.left_at = new ucontext_t();
  return *static_cast<ucontext_t*>(stack.left_at);
}

}  // namespace

void prepare(Stack& stack, void* memory, std::size_t bytes, void (*main)()) {
  ucontext_t& context = context_of(stack);
  getcontext(&context);
  context.uc_stack.ss_sp = memory;
  context.uc_stack.ss_size = bytes;
  context.uc_link = nullptr;
  makecontext(&context, main, 0);
}

void switch_stacks(Stack& from, Stack& to) {
  swapcontext(&context_of(from), &context_of(to));
}

}  // namespace detol::emulated
