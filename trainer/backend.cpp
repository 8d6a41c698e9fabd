#include "trainer/backend.h"

#include <array>

#include "trainer/onednn/onednn.h"
#include "trainer/reference/reference.h"

namespace detol {
namespace {

constexpr std::array kBackends = {
    BackendRow{"onednn", "CPU, one thread, oneDNN primitives and our own kernels", compile_onednn,
               open_choices_onednn, time_choices_onednn},
    BackendRow{"reference", "plain loops, the oracle the others are tested against",
               compile_reference},
};

}  // namespace

std::span<const BackendRow> backends() {
  return kBackends;
}

}  // namespace detol
