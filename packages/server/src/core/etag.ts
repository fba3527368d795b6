/** Entity tags: strong, opaque, the same in every profile and version of the interface. Source: conventions 5. */
import { createHmac } from 'node:crypto'
import { ApiError } from './api-error.ts'

export interface EntityTags {
  of(kind: string, extId: string, version: number): string
  /** @throws ApiError 412 unless `ifMatch` names this version. `error`: the kind's own code for it. */
  require(ifMatch: string, tag: string, title: string, error?: string): void
}

export function createEntityTags(salt: string): EntityTags {
  return {
    of: (kind, extId, version) =>
      `"${createHmac('sha256', salt).update(`${kind}\0${extId}\0${version}`).digest('base64url').slice(0, 27)}"`,
    require(ifMatch, tag, title, error) {
      const given = ifMatch.split(',').map((text) => text.trim())
      const plain = tag.slice(1, -1)
      if (!given.some((candidate) => candidate === tag || candidate === plain)) {
        throw new ApiError((error ?? 'INVALID_ETAG_HEADER') as 'INVALID_ETAG_HEADER', { kind: title })
      }
    },
  }
}
