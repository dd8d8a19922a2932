# cmake -DPROGRAM=mqcore -DWORDS="manual" -DOUTPUT=mqcore.1 -P say.cmake: what the program prints, as a file.
execute_process(COMMAND ${PROGRAM} ${WORDS} OUTPUT_FILE ${OUTPUT}.new COMMAND_ERROR_IS_FATAL ANY)
file(RENAME ${OUTPUT}.new ${OUTPUT})
