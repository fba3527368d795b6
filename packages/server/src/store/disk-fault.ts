/** FULL, and SHMSIZE: the shared memory of a write-ahead log is a file that could not grow. */
const sqliteFull = [13, 4874]
/** SQLite's I/O errors of writing: WRITE, FSYNC, DIR_FSYNC, TRUNCATE, SHMOPEN, SHMMAP. */
const sqliteWriteErrors = [778, 1034, 1290, 1546, 4618, 5386]
const fullCodes = ['ENOSPC', 'EDQUOT']

/** undefined: the error has another cause than the disk. */
export function diskFault(error: unknown): string | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const { errcode, code } = cause as { readonly errcode?: number; readonly code?: string }
    const isFull =
      (errcode !== undefined && sqliteFull.includes(errcode)) || (code !== undefined && fullCodes.includes(code))
    if (isFull) return 'The disk that holds the data folder is full.'
    if (errcode !== undefined && sqliteWriteErrors.includes(errcode))
      return `The disk that holds the data folder cannot be written (${cause.message}).`
  }
  return undefined
}
