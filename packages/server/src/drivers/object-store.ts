/** Places that hold backups: directories and buckets. */
// biome-ignore lint/suspicious/noEmptyInterface: filled by the kinds that need it
export interface ObjectStore {}
