#pragma once

// CIFAR-10 and CIFAR-100, binary version (A. Krizhevsky, "Learning multiple layers of features from
// tiny images", 2009; https://www.cs.toronto.edu/~kriz/cifar.html): a folder with data_batch_1.bin
// to data_batch_5.bin and test_batch.bin, or with train.bin and test.bin, each also as .gz. A file
// is
//
//   file   := record+
//   record := coarse? label pixel{3072}       coarse: only CIFAR-100; pixels: 3 x 32 x 32
//
// Class names are the lines of batches.meta.txt, fine_label_names.txt or coarse_label_names.txt,
// if there is such a file.

#include "core/result.h"
#include "trainer/data/samples.h"

namespace detol::inline trainer {

Result<Found> open_cifar(const DataConfig& config);

}  // namespace detol::inline trainer
