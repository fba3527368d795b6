/** Source: behaviour volumes-storage.md 1.2. */
import type { BodyOf } from '@hyperplane/contract'
import type { VolumeGroup } from '@hyperplane/contract/volumes/volume-group'
import { type ApiError, invalid } from '../../core/api-error.ts'
import { defined } from '../../core/defined.ts'
import { authenticationOf, type Group } from '../block-volumes/attachments.ts'

export type GroupBody = Partial<BodyOf<typeof VolumeGroup>>
type Authentication = Group['enabledAuthentications']

/** Target names have at most 512 characters: the prefix, a hyphen and the id. */
const maximumPrefix = 512 - 37

export interface Access {
  readonly enabledAuthentications?: Authentication
  readonly iscsiFeatures?: Group['iscsiFeatures']
}

export const newGroupFaults = (body: GroupBody): ApiError[] => [
  ...accessAfter(body).faults,
  ...namingAfter('', body).faults,
]

export const changedGroupFaults = (body: GroupBody): ApiError[] => [
  ...contradictions(body),
  ...prefixFaults(body.targetPrefix),
]

function contradictions({ enabledAuthentications: own, iscsiFeatures }: GroupBody): ApiError[] {
  const nested = iscsiFeatures?.enabledAuthentications
  if (own === undefined || nested === undefined || own === nested) return []
  const fault = `expected ${own}, as enabledAuthentications says; found ${nested}`
  return [invalid('iscsiFeatures/enabledAuthentications', fault)]
}

const prefixFaults = (prefix: string | undefined): ApiError[] =>
  prefix === undefined || prefix.length <= maximumPrefix
    ? []
    : [invalid('targetPrefix', `expected at most ${maximumPrefix} characters, found ${prefix.length}`)]

/** A body without a secret keeps the stored one. */
export function accessAfter(body: GroupBody, stored?: Access): { access: Access; faults: ApiError[] } {
  const contradicting = contradictions(body)
  if (contradicting.length > 0) return { access: {}, faults: contradicting }
  const authentication = authenticationOf(body) ?? (stored && authenticationOf(stored))
  const isChap = authentication === 'CHAP'
  const given = body.iscsiFeatures?.targetSecret
  const secret = isChap ? (given ?? stored?.iscsiFeatures?.targetSecret) : undefined
  const faults: ApiError[] = []
  if (isChap && secret === undefined) faults.push(invalid('iscsiFeatures/targetSecret', 'is required with CHAP'))
  if (!isChap && given !== undefined)
    faults.push(invalid('iscsiFeatures/targetSecret', 'expected only with enabledAuthentications CHAP'))
  return { access: inRequestedFields(authentication, [body, stored], secret), faults }
}

/** Clients compare responses with their requests, so only the fields that a body used show the authentication. */
function inRequestedFields(
  enabledAuthentications: Authentication,
  bodies: readonly (Access | undefined)[],
  targetSecret?: string,
): Access {
  if (enabledAuthentications === undefined) return {}
  const isOwn = bodies.some((body) => body?.enabledAuthentications !== undefined)
  const isNested = bodies.some((body) => body?.iscsiFeatures?.enabledAuthentications !== undefined)
  const iscsiFeatures = { ...(isNested && { enabledAuthentications }), ...defined({ targetSecret }) }
  return {
    ...(isOwn && { enabledAuthentications }),
    ...(Object.keys(iscsiFeatures).length > 0 && { iscsiFeatures }),
  }
}

interface TargetNaming {
  readonly targetPrefix?: string
  readonly targetName: string
}

/** Requested, or the prefix (default: the group's name) followed by the id. */
export function namingAfter(
  extId: string,
  body: GroupBody,
  stored?: Partial<TargetNaming>,
): { naming: TargetNaming; faults: ApiError[] } {
  // Clients send back both fields as read; only a changed field is a request.
  const prefix = body.targetPrefix === stored?.targetPrefix ? undefined : body.targetPrefix
  const name = body.targetName === stored?.targetName ? undefined : body.targetName
  const faults = prefixFaults(prefix)
  if (prefix !== undefined && name !== undefined) {
    faults.push(invalid('targetName', 'expected at most one of targetName and targetPrefix, found both'))
  }
  const storedPrefix = stored?.targetPrefix === undefined ? {} : { targetPrefix: stored.targetPrefix }
  if (prefix !== undefined) return { naming: { targetPrefix: prefix, targetName: targetNameOf(prefix, extId) }, faults }
  if (name !== undefined) return { naming: { targetName: name }, faults }
  if (stored?.targetName !== undefined) return { naming: { ...storedPrefix, targetName: stored.targetName }, faults }
  return { naming: { targetName: targetNameOf(body.name ?? '', extId) }, faults }
}

export const targetNameOf = (beginning: string, extId: string): string =>
  `${beginning.toLowerCase().replace(/[^a-z0-9.-]/g, '-')}-${extId}`
