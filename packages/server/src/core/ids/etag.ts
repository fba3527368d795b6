/** Strong, opaque, the same in every profile and version of the interface. Source: conventions 5. */
import { hash } from 'node:crypto'
import { ApiError } from '../api-error.ts'

export interface EntityTags {
  of(kind: string, extId: string, version: number): string
  /** @throws ApiError 412 unless `ifMatch` names this version; `error`: the kind's own code */
  require(ifMatch: string, tag: string, title: string, error?: string): void
}

const maximumCached = 2000

export function createEntityTags(salt: string): EntityTags {
  const cached = new Map<string, string>()
  return {
    of(kind, extId, version) {
      const about = `${kind}\0${extId}\0${version}`
      let tag = cached.get(about)
      if (tag === undefined) {
        tag = `"${hash('sha256', `${salt}\0${about}`, 'base64url').slice(0, 27)}"`
        if (cached.size >= maximumCached) cached.clear()
        cached.set(about, tag)
      }
      return tag
    },
    require(ifMatch, tag, title, error) {
      const given = ifMatch.split(',').map((text) => text.trim())
      const plain = tag.slice(1, -1)
      if (!given.some((candidate) => candidate === tag || candidate === plain)) {
        throw new ApiError((error ?? 'INVALID_ETAG_HEADER') as 'INVALID_ETAG_HEADER', { kind: title })
      }
    },
  }
}
