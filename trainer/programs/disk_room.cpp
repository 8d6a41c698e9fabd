#include "trainer/programs/disk_room.h"

#include <system_error>

#include "core/clock.h"

namespace detol::inline trainer {

void DiskRoom::look() {
  constexpr double kEveryS = 1;
  if (system_clock().now_s() - looked_s_ >= kEveryS) look_now();
}

void DiskRoom::look_now() {
  looked_s_ = system_clock().now_s();
  std::error_code unknown;
  const std::filesystem::space_info disk = std::filesystem::space(folder_, unknown);
  if (!unknown && disk.capacity > 0 && disk.available == 0) was_lacking_ = true;
}

}  // namespace detol::inline trainer
