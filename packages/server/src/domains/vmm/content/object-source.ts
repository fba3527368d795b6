/** Sources in the operator's object store, whose bucket follows from the kind. Source: behaviour vmm.md 1.8, 1.11. */

import { Image } from '@hyperplane/contract/vmm/content/image'
import { Ova } from '@hyperplane/contract/vmm/content/ova'
import type { ApiError } from '../../../core/api-error.ts'
import type { ContentOrigin, ObjectOrigin, UrlAccess } from '../../../drivers/content-source.ts'
import type { StepContext } from '../../context.ts'
import { fault } from '../../virtual-machines/fault.ts'

interface Source {
  readonly $objectType?: string | undefined
  readonly key?: string
}

const buckets = { [Image.kind]: 'vmm-images', [Ova.kind]: 'vmm-ovas' }

/** Undefined: the source is no object. */
export function objectOf(kind: string, source: object | undefined): ObjectOrigin | undefined {
  const { $objectType, key } = (source ?? {}) as Source
  if ($objectType !== 'vmm.v4.content.ObjectsLiteSource') return undefined
  return { kind: 'object', bucket: buckets[kind] as string, key: key as string }
}

export const pathOf = ({ bucket, key }: ObjectOrigin): string => `${bucket}/${key}`

export const noObjectStore =
  'this service has no object store; its operator sets one with --object-store (HYPERPLANE_OBJECT_STORE)'

/** Reads an origin. Objects take real time, for which a clock that is moved by hand has to wait. */
export const reading = <T>(
  { clock }: Pick<StepContext, 'clock'>,
  origin: ContentOrigin | UrlAccess,
  work: () => Promise<T>,
): Promise<T> => ('bucket' in origin ? clock.lengthy(work) : work())

/** Refuses keys that URL parsers change: they could lead into another bucket. */
export function keyFaults(source: object | undefined): ApiError[] {
  const { key } = (source ?? {}) as Source
  if (key === undefined) return []
  const isKept = !key.startsWith('/') && key.isWellFormed() && !key.split('/').some((part) => /^\.\.?$/.test(part))
  return isKept ? [] : [fault('source/key', 'a key that does not begin with "/" and has no part "." or ".."', key)]
}
