/** Content of images: one file on each cluster with the image. Idempotent; resolve when durable. Source: behaviour vmm.md 1.8, 3.1, 3.6. */
export interface ContentSource {
  /** Whether an object store is configured, so that `ObjectOrigin` can be read. */
  readonly readsObjects: boolean
  /** Does not transfer the content. @throws DriverError, final, with a cause for people, when it is unreachable */
  look(
    origin: ContentOrigin,
    stopping?: AbortSignal,
  ): Promise<{ readonly sizeBytes: number; readonly version?: string }>
  /** A partial file stays until `remove`. */
  fetch(file: ImageFile, origin: ContentOrigin, transfer: Transfer): Promise<void>
  /** @throws DriverError, final, when the other cluster does not have the content */
  copy(from: ImageFile, to: ImageFile, transfer: Transfer): Promise<void>
  /** Images of the cluster that no manager has imported yet. */
  unmanaged(clusterExtId: string): readonly UnmanagedImage[]
  /** Reads the whole file, and makes it an image of this manager. */
  adopt(file: ImageFile, transfer: Transfer): Promise<void>
  /** Undoes `adopt`: the image belongs to the cluster alone again. */
  release(file: ImageFile): Promise<void>
  /** Only digests that are known already: never reads gigabytes. */
  digests(file: ImageFile): Promise<Digests>
  /** Returns the actual digest if it differs. The first expected digest of a URL defines its content. */
  verify(file: ImageFile, expected: Digest): Promise<string | undefined>
  /** The same bytes each time. @throws DriverError, final, when the file does not exist */
  read(file: ImageFile, part: ByteRange): AsyncIterable<Uint8Array>
  /** Also removes a partial file; an absent one is no fault. */
  remove(file: ImageFile): Promise<void>
}

export interface Transfer {
  /** Read again at least every 5 s; undefined: no limit. */
  bytesPerSecond(): Promise<number | undefined>
  /** Gets the progress, 0 to 1; if it throws, the transfer stops. */
  report(share: number): Promise<void>
  readonly stopping: AbortSignal
}

export interface UnmanagedImage {
  readonly extId: string
  readonly name: string
  readonly type: 'DISK_IMAGE' | 'ISO_IMAGE'
  readonly sizeBytes: number
}

export interface ByteRange {
  readonly first: number
  readonly last: number
}

export interface ImageFile {
  readonly imageExtId: string
  readonly clusterExtId: string
}

export interface UrlAccess {
  readonly url: string
  /** For servers that ask for a login. */
  readonly credential?: { readonly username: string; readonly password: string }
  /** Accepts a server whose certificate cannot be verified. */
  readonly allowsUntrusted: boolean
}

export type ContentOrigin =
  | ({ readonly kind: 'url'; readonly type: 'DISK_IMAGE' | 'ISO_IMAGE' } & UrlAccess)
  | ObjectOrigin
  | { readonly kind: 'disk'; readonly diskExtId: string; readonly sizeBytes: number }

export interface ObjectOrigin {
  readonly kind: 'object'
  readonly bucket: string
  readonly key: string
  /** From an earlier `look`: the object must still have this version. */
  readonly version?: string
}

export type DigestAlgorithm = 'sha1' | 'sha256'

export interface Digest {
  readonly algorithm: DigestAlgorithm
  readonly hex: string
}

export type Digests = { readonly [algorithm in DigestAlgorithm]?: string }
