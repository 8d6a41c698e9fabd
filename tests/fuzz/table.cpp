#include <array>

#include "tests/fuzz/targets.h"

namespace detol::fuzz {

std::span<const FuzzTarget> fuzz_targets() {
  static constexpr std::array kTargets = {
      FuzzTarget{"space", "the space file", fuzz_space, space_seeds},
      FuzzTarget{"foreign", "a space of another program, for `detol new --from`", fuzz_foreign,
                 foreign_seeds},
      FuzzTarget{"idx", "data: one of the four IDX files", fuzz_idx, idx_seeds},
      FuzzTarget{"cifar", "data: a file of CIFAR-100", fuzz_cifar, cifar_seeds},
      FuzzTarget{"npy", "data: an array of a folder of .npy files", fuzz_npy, npy_seeds},
      FuzzTarget{"npz", "data: arrays in one .npz file", fuzz_npz, npz_seeds},
      FuzzTarget{"csv", "data: a table, of every task", fuzz_csv, csv_seeds},
      FuzzTarget{"picture", "data: a JPEG or PNG file", fuzz_picture, picture_seeds},
      FuzzTarget{"webdataset", "data: a tar file of pictures and labels", fuzz_webdataset,
                 webdataset_seeds},
#ifdef DETOL_HAS_HDF5
      FuzzTarget{"hdf5", "data: arrays in one HDF5 file", fuzz_hdf5, hdf5_seeds},
#endif
      FuzzTarget{"packed", "data: a file of `detol data pack`", fuzz_packed, packed_seeds},
      FuzzTarget{"checkpoint", "a checkpoint", fuzz_checkpoint, checkpoint_seeds},
      FuzzTarget{"message", "what workers and master send each other", fuzz_message, message_seeds},
      FuzzTarget{"onnx", "an exported model that is read back", fuzz_onnx, onnx_seeds},
      FuzzTarget{"safetensors", "likewise", fuzz_safetensors, safetensors_seeds},
      FuzzTarget{"query", "SQL of `detol query`", fuzz_query, query_seeds},
      FuzzTarget{"where", "SQL of `detol trials --where`", fuzz_where, where_seeds},
      FuzzTarget{"trials", "trials for `detol db import`", fuzz_trials, trials_seeds},
  };
  return kTargets;
}

}  // namespace detol::fuzz
