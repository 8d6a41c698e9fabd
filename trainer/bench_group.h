#pragma once

// The bench's groups: the ranks are processes of an MPI job, each this program under a hidden
// word. Private to this folder.

namespace detol {

// Images/s, by the wall clock, of so many ranks that train ResNet-20 with a global batch of 128;
// 0 if they could not be started. Not for a process with threads: forks.
double group_images_per_second(int ranks);

}  // namespace detol
