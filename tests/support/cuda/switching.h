#pragma once

// Switching: from one stack to another. Two files, of which CMake takes one: a few instructions on
// x86-64, ucontext elsewhere.

#include <cstddef>

namespace detol::emulated {

// Where a stack was left. The one that a thread of the host came with needs no preparation.
struct Stack {
  void* left_at = nullptr;
};

// `main` never returns; it begins with the first switch. The memory outlives the stack.
void prepare(Stack& stack, void* memory, std::size_t bytes, void (*main)());

void switch_stacks(Stack& from, Stack& to);

}  // namespace detol::emulated
