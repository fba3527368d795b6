/** The operator's object store, source of images and OVAs. Source: behaviour vmm.md 1.8, 1.11. */
import { DriverError } from '../core/tasks/define-task.ts'
import type { ByteRange, ObjectOrigin } from './content-source.ts'

export interface ContentStore {
  /** Does not transfer the content. @throws DriverError, final, with a cause for people */
  look(object: StoredContent, stopping?: AbortSignal): Promise<ContentVersion>
  /** @throws DriverError, final, with a cause for people; also when the object has another version by now */
  read(object: StoredContent, version: string, part: ByteRange, stopping: AbortSignal): Promise<Uint8Array>
}

export type StoredContent = Pick<ObjectOrigin, 'bucket' | 'key'>

export interface ContentVersion {
  readonly sizeBytes: number
  /** Differs after each change of the object. */
  readonly version: string
}

export const objectChanged = (): DriverError => DriverError.final('the object changed while it was read')
