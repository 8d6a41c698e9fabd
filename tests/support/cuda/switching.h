#pragma once

// Switching from one stack to another. CMake takes one of two implementations: a few instructions
// on x86-64, ucontext elsewhere.

#include <cstddef>

namespace detol::emulated {

// Stack: where a stack was left. The own stack of a host thread needs no prepare().
struct Stack {
  void* left_at = nullptr;
};

// `main` never returns; it begins with the first switch. The memory outlives the stack.
void prepare(Stack& stack, void* memory, std::size_t bytes, void (*main)());

void switch_stacks(Stack& from, Stack& to);

}  // namespace detol::emulated
