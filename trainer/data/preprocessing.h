#pragma once

// Preprocessing: what made a network's inputs of the data it was trained on, and what its outputs
// mean: everything that is needed of a data set to use a trained network without it. A plain value.
//
// The trainer writes it once per study, beside the folders of the checkpoints, as JSON.

#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "trainer/data/dataset.h"
#include "trainer/data/picture_form.h"
#include "trainer/data/table_encoder.h"

namespace detol::inline trainer {

inline constexpr const char* kPreprocessingFile = "preprocessing.json";

struct Preprocessing {
  std::uint64_t fingerprint = 0;  // of the data
  Task task;
  bool has_bytes = true;                                // as Dataset has them, from here on
  std::vector<float> mean = {}, deviation = {};         // per channel
  std::shared_ptr<const TableEncoder> table = nullptr;  // of a csv table; else null
  Offsets offsets = {};                      // subtracted from cells and targets before all else
  std::optional<PictureForm> pictures = {};  // of data that are picture files
  std::vector<std::string> class_names = {};
  std::vector<float> target_mean = {}, target_deviation = {};  // of a regression
};

Preprocessing preprocessing_of(const Dataset& data);

// Writes the file durably, if it is not there yet, and removes what a killed writer left beside it;
// others may write it at the same time. Errors (kStorage): it is not there.
Result<void> write_preprocessing(const std::filesystem::path& path, const Preprocessing& of);

// Reads the file. Errors (kInput) start with the path: it is not there, or damaged.
Result<Preprocessing> read_preprocessing(const std::filesystem::path& path);

// JSON of the parts that exported models carry, and back. The dialect is apart from the columns;
// null: it is not known. Errors (kInput): it is not what detol writes; an encoder of more than 2^20
// inputs or 2^14 columns.
nlohmann::json json_of(const TableEncoder& table);
nlohmann::json json_of(const TableDialect& dialect);
nlohmann::json json_of(const PictureForm& pictures);
Result<TableEncoder> table_from(const nlohmann::json& columns, const nlohmann::json& dialect);
Result<PictureForm> pictures_from(const nlohmann::json& all);

}  // namespace detol::inline trainer
