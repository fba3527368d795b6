/**
 * Where the content of images comes from, and where it lies: URLs, disks of VMs, and one file for each cluster that
 * holds an image. Implemented by `simulated/` and by each real backend. Every call that changes something is
 * idempotent; it resolves once its effect is durable.
 * Source: behaviour vmm.md 1.8, 3.1, 3.6.
 */
export interface ContentSource {
  /**
   * Reads the size of the content behind the origin, without the content.
   * @throws DriverError, final, with the cause for people, when it cannot be reached
   */
  look(origin: ContentOrigin): Promise<{ readonly sizeBytes: number }>
  /**
   * Brings the content into a file. `report` is told of each part that arrived, from 0 to 1; when it throws, the transfer
   * stops, and what arrived stays until `remove`.
   */
  fetch(file: ImageFile, origin: ContentOrigin, report: (share: number) => Promise<void>): Promise<void>
  /** Copies the content from another cluster that holds it. @throws DriverError, final, when that one does not */
  copy(from: ImageFile, to: ImageFile): Promise<void>
  /** The digests of a file, where they are known; never by reading gigabytes. */
  digests(file: ImageFile): Promise<Digests>
  /**
   * Compares the content with a digest that the caller knows. The first one that is given for a URL tells its content.
   * @returns the digest that was found instead; undefined: they agree
   */
  verify(file: ImageFile, expected: Digest): Promise<string | undefined>
  /** The bytes of a file, the same each time. @throws DriverError, final, when it is not there */
  read(file: ImageFile): AsyncIterable<Uint8Array>
  /** Removes whatever of the file is there. */
  remove(file: ImageFile): Promise<void>
}

/** The content of an image on one cluster. */
export interface ImageFile {
  readonly imageExtId: string
  readonly clusterExtId: string
}

export type ContentOrigin =
  | { readonly kind: 'url'; readonly url: string; readonly type: 'DISK_IMAGE' | 'ISO_IMAGE' }
  /** A copy of the disk as it is at that moment. */
  | { readonly kind: 'disk'; readonly diskExtId: string; readonly sizeBytes: number }

export type DigestAlgorithm = 'sha1' | 'sha256'

export interface Digest {
  readonly algorithm: DigestAlgorithm
  /** Lower case. */
  readonly hex: string
}

export type Digests = { readonly [algorithm in DigestAlgorithm]?: string }
