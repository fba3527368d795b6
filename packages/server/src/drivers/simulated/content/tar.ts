/** Streams a tar archive of files whose sizes are known. */
interface TarFile {
  readonly name: string
  readonly sizeBytes: number
  readonly content: () => Iterable<Uint8Array>
}

/** @param at time of the entries */
export async function* tarOf(files: Iterable<TarFile>, at: number): AsyncIterable<Uint8Array> {
  const { createTarPacker } = await import('modern-tar')
  const { readable, controller } = createTarPacker()
  const write = async (): Promise<void> => {
    for (const { name, sizeBytes, content } of files) {
      const entry = controller.add({ name, size: sizeBytes, mtime: new Date(at), mode: 0o644 }).getWriter()
      for (const bytes of content()) await entry.write(bytes)
      await entry.close()
    }
    controller.finalize()
  }
  // The reader gets the error, or has stopped reading.
  write().catch((error) => controller.error(error))
  yield* readable
}
