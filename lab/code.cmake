# Write lab_code.h: what the numbers of the lab depend on, as hashes of source.
#
# LAB_CODE stands for the library, the streams, the truth and the trials; each
# exp_*.c has a hash of its own, so that an experiment that is added or changed
# does not undo the results of the others. What only presents results is left out.
file(GLOB_RECURSE common ${SOURCE}/src/*.c ${SOURCE}/src/*.h)
file(GLOB streams ${SOURCE}/lab/lab_file.* ${SOURCE}/lab/lab_keys.* ${SOURCE}/lab/lab_log.* ${SOURCE}/lab/lab_judge.* ${SOURCE}/lab/lab_math.h
  ${SOURCE}/lab/lab_prepared.*
  ${SOURCE}/lab/lab_pairs.* ${SOURCE}/lab/lab_race.* ${SOURCE}/lab/lab_records.* ${SOURCE}/lab/lab_rng.h
  ${SOURCE}/lab/lab_stats.* ${SOURCE}/lab/lab_titles.*
  ${SOURCE}/lab/lab_stream*.* ${SOURCE}/lab/lab_trial.* ${SOURCE}/lab/lab_truth.*
  ${SOURCE}/lab/lab_firsts.* ${SOURCE}/lab/lab_zipf.h)
set(all "")
foreach(file IN LISTS common streams)
  file(SHA256 ${file} hash)
  string(APPEND all ${hash})
endforeach()
string(SHA256 code "${all}")
string(SUBSTRING ${code} 0 16 code)
set(text "#define LAB_CODE \"${code}\"\n#define LAB_CODE_FILES")
file(GLOB experiments ${SOURCE}/lab/exp_*.c)
# Those on servers depend on the client too.
file(GLOB_RECURSE client ${SOURCE}/remote/*.c ${SOURCE}/remote/*.h ${SOURCE}/module/*.c ${SOURCE}/module/*.h
  ${SOURCE}/lab/lab_live.* ${SOURCE}/lab/lab_servers.*)
set(client_code "")
foreach(file IN LISTS client)
  file(SHA256 ${file} hash)
  string(APPEND client_code ${hash})
endforeach()
foreach(file IN LISTS experiments)
  file(SHA256 ${file} hash)
  if(file MATCHES "/exp_live")
    string(SHA256 hash "${hash}${client_code}")
  endif()
  string(SUBSTRING ${hash} 0 16 hash)
  get_filename_component(name ${file} NAME)
  string(APPEND text " {\"${name}\", \"${hash}\"},")
endforeach()
file(WRITE ${OUT} "${text}\n")
