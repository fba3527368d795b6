/** Source: behaviour networking.md 1.1 (common fields). */

import type { ValueOf } from '@hyperplane/contract'
import type { EntityMetadata } from '@hyperplane/contract/networking/shapes'
import type { Caller } from '../../core/caller.ts'

type Metadata = ValueOf<typeof EntityMetadata>

export type Owner = Pick<Metadata, 'ownerReferenceId' | 'ownerUserName'>

export const ownerMetadata = (caller: Caller): Owner => ({ ownerReferenceId: caller.extId, ownerUserName: caller.name })

export const ownerOf = ({ metadata }: { readonly metadata?: Metadata }): Owner => ({
  ...(metadata?.ownerReferenceId === undefined ? {} : { ownerReferenceId: metadata.ownerReferenceId }),
  ...(metadata?.ownerUserName === undefined ? {} : { ownerUserName: metadata.ownerUserName }),
})

export function metadataOf(given: Metadata | undefined, owner: Owner): Metadata {
  return {
    ...owner,
    ...given,
    ...(given?.categoryIds === undefined ? {} : { categoryIds: [...new Set(given.categoryIds)] }),
  }
}
