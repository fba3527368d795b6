/** All differences between names of the specification (`spec`) and of public clients (`public`). Source: conventions 2. */

import type { CanonicalNames } from '../../core/ports.ts'

export type Profile = 'spec' | 'public'

export const requestIdHeader = { spec: 'SVC-Request-Id', public: 'NTNX-Request-Id' } as const
export const apiKeyHeader = { spec: 'X-SVC-Api-Key', public: 'X-ntnx-api-key' } as const

const taskPrefix = 'ZXJnb24='
const bareUuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Path segments after the version that differ. */
const groups = [
  { namespace: 'vmm', spec: 'extern', public: 'esxi' },
  { namespace: 'networking', spec: 'cloud', public: 'aws' },
] as const

/** A path below /api -> the canonical path, and its profile if the names of the two differ. */
export function canonicalPath(path: string): { path: string; profile?: Profile } {
  const begin = path.indexOf('/') + 1
  const slash = begin === 0 ? 0 : path.indexOf('/', begin)
  const end = slash < 0 ? path.length : slash
  const namespace = path.slice(begin, end)
  if (namespace === 'prism') return { path: `${path.slice(0, begin)}platform${path.slice(end)}`, profile: 'public' }
  // The control interface has only the names of the specification.
  if (namespace === 'platform' || namespace === 'control') return { path, profile: 'spec' }
  for (const group of groups) {
    if (namespace !== group.namespace) continue
    const segments = path.split('/')
    if (segments[3] === group.public) {
      segments[3] = group.spec
      return { path: segments.join('/'), profile: 'public' }
    }
    if (segments[3] === group.spec) return { path, profile: 'spec' }
  }
  return { path }
}

export function pathIn(profile: Profile, path: string): string {
  if (profile === 'spec') return path
  const segments = path.split('/')
  if (segments[1] === 'platform') segments[1] = 'prism'
  for (const group of groups) {
    if (segments[1] === group.namespace && segments[3] === group.spec) segments[3] = group.public
  }
  const tasks = segments.indexOf('tasks')
  const id = segments[5]
  // In a link to the request itself, the id has the prefix already.
  if (tasks === 4 && segments[1] === 'prism' && id !== undefined && bareUuid.test(id))
    segments[5] = `${taskPrefix}:${id}`
  return segments.join('/')
}

export const typeIn = (profile: Profile, type: string): string =>
  profile === 'spec'
    ? type
    : type
        .replace(/^platform\./, 'prism.')
        .replace(/^(vmm\.v\d+\.)extern\./, '$1esxi.')
        .replace(/^(networking\.v\d+\.)cloud\./, '$1aws.')

export const canonicalType = (type: string): string =>
  type
    .replace(/^prism\./, 'platform.')
    .replace(/^(vmm\.v\d+\.)esxi\./, '$1extern.')
    .replace(/^(networking\.v\d+\.)aws\./, '$1cloud.')

export const relIn = (profile: Profile, rel: string): string =>
  profile === 'spec' ? rel : rel.replace(/^platform:/, 'prism:').replace(/^vmm:extern:/, 'vmm:esxi:')

export const canonicalRel = (rel: string): string =>
  rel.replace(/^prism:/, 'platform:').replace(/^vmm:esxi:/, 'vmm:extern:')

export const taskIdIn = (profile: Profile, id: string): string => (profile === 'spec' ? id : `${taskPrefix}:${id}`)

/** The plain UUID. Public clients must send the prefix; the spec profile accepts both forms. */
export function canonicalTaskId(profile: Profile, text: string): string | undefined {
  const at = text.lastIndexOf(':')
  if (at < 0) return profile === 'public' ? undefined : text
  return text.slice(0, at) === taskPrefix || text.slice(0, at) === 'legacy' ? text.slice(at + 1) : undefined
}

const systemNames: readonly (readonly [spec: string, public_: string])[] = [
  ['Platform Admin', 'Prism Admin'],
  ['Platform Viewer', 'Prism Viewer'],
  ['Platform User', 'Prism User'],
  ['Central Admin', 'Nutanix Central Admin'],
  ['Management Connector', 'NCM Connector'],
  ['Network Policy Admin', 'Flow Admin'],
  ['Network Policy Viewer', 'Flow Viewer'],
  ['Network Policy Author', 'Flow Policy Author'],
  ['Platform', 'Prism'],
  ['kDomainManagerDeploymentRequest', 'kPrismCentralDeploymentRequest'],
]
const publicNames = new Map(systemNames)
const specNames = new Map(systemNames.map(([spec, public_]) => [public_, spec]))

export const systemNameIn = (profile: Profile, name: string): string =>
  profile === 'spec' ? name : (publicNames.get(name) ?? name)
export const canonicalSystemName = (name: string): string => specNames.get(name) ?? name

export const canonicalNames: CanonicalNames = {
  path: (path) => canonicalPath(path).path,
  taskId: canonicalTaskId,
  type: canonicalType,
  text(vocabulary, text) {
    if (vocabulary === 'rel') return canonicalRel(text)
    return vocabulary === 'systemName' || vocabulary === 'clientName' ? canonicalSystemName(text) : text
  },
}

/** The first match wins. Source: conventions 2.1. */
export function profileOf(request: {
  readonly pathProfile: Profile | undefined
  readonly header: (name: string) => string | undefined
  readonly fallback: Profile
}): Profile {
  if (request.pathProfile !== undefined) return request.pathProfile
  const has = (profile: Profile): boolean =>
    request.header(requestIdHeader[profile].toLowerCase()) !== undefined ||
    request.header(apiKeyHeader[profile].toLowerCase()) !== undefined
  if (has('spec')) return 'spec'
  if (has('public')) return 'public'
  if (request.header('user-agent')?.startsWith('Nutanix-') === true) return 'public'
  return request.fallback
}
