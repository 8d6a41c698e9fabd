#pragma once

// FuzzTarget: a parser of untrusted bytes, and valid input for it (its seeds). Targets are the
// files of this folder; fuzz_targets() returns all of them. libFuzzer runs one of them at a time
// (fuzz_main.cpp), and the test fuzz_test runs all of them on their seeds, on edits of these, and
// on earlier findings (found/<target>/).

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace detol::fuzz {

struct FuzzTarget {
  std::string_view name;
  std::string_view summary;
  void (*run)(std::string_view bytes);  // throws BrokenPromise (promise.h)
  std::vector<std::string> (*seeds)();
};

// Every target. Not thread-safe: a target may keep files that it changes.
std::span<const FuzzTarget> fuzz_targets();

void fuzz_space(std::string_view bytes);
std::vector<std::string> space_seeds();

void fuzz_foreign(std::string_view bytes);
std::vector<std::string> foreign_seeds();

void fuzz_idx(std::string_view bytes);
std::vector<std::string> idx_seeds();

void fuzz_cifar(std::string_view bytes);
std::vector<std::string> cifar_seeds();

void fuzz_npy(std::string_view bytes);
std::vector<std::string> npy_seeds();

void fuzz_npz(std::string_view bytes);
std::vector<std::string> npz_seeds();

void fuzz_csv(std::string_view bytes);
std::vector<std::string> csv_seeds();

void fuzz_picture(std::string_view bytes);
std::vector<std::string> picture_seeds();

void fuzz_webdataset(std::string_view bytes);
std::vector<std::string> webdataset_seeds();

void fuzz_hdf5(std::string_view bytes);
std::vector<std::string> hdf5_seeds();

void fuzz_packed(std::string_view bytes);
std::vector<std::string> packed_seeds();

void fuzz_checkpoint(std::string_view bytes);
std::vector<std::string> checkpoint_seeds();

void fuzz_message(std::string_view bytes);
std::vector<std::string> message_seeds();

void fuzz_onnx(std::string_view bytes);
std::vector<std::string> onnx_seeds();

void fuzz_safetensors(std::string_view bytes);
std::vector<std::string> safetensors_seeds();

void fuzz_query(std::string_view bytes);
std::vector<std::string> query_seeds();

void fuzz_where(std::string_view bytes);
std::vector<std::string> where_seeds();

void fuzz_trials(std::string_view bytes);
std::vector<std::string> trials_seeds();

}  // namespace detol::fuzz
