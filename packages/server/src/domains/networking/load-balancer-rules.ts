/** Source: behaviour networking.md 1.14. */
import type { BodyOf, EntityOf } from '@hyperplane/contract'
import type { LoadBalancerSession } from '@hyperplane/contract/networking/load-balancer-session'
import type { ApiError } from '../../core/api-error.ts'
import { hostFaults, invalidField } from './ip-config.ts'

export type BalancerEntity = EntityOf<typeof LoadBalancerSession>
export type BalancerBody = BodyOf<typeof LoadBalancerSession>
export type Listener = BalancerEntity['listener']
type PortRange = Listener['portRanges'][number]

export function sessionFaults({ listener, healthCheckConfig, targetsConfig }: BalancerBody): readonly ApiError[] {
  const { intervalSecs = 0, timeoutSecs = 0 } = healthCheckConfig
  return [
    ...virtualIpFaults(listener.virtualIP),
    ...portFaults(listener.portRanges),
    ...(timeoutSecs > intervalSecs
      ? [
          invalidField(
            'healthCheckConfig/timeoutSecs',
            `expected at most intervalSecs (${intervalSecs}), found ${timeoutSecs}`,
          ),
        ]
      : []),
    ...targetFaults(targetsConfig, listener),
  ]
}

function virtualIpFaults({ assignmentType, ipAddress }: Listener['virtualIP']): readonly ApiError[] {
  const path = 'listener/virtualIP/ipAddress'
  if (ipAddress !== undefined) return hostFaults(ipAddress, path)
  return assignmentType === 'STATIC' ? [invalidField(path, 'is required for the assignment type STATIC')] : []
}

function portFaults(ranges: readonly PortRange[]): readonly ApiError[] {
  return ranges.flatMap((range, index) => {
    const path = `listener/portRanges[${index}]`
    const { startPort, endPort } = range
    if (startPort < 1 || startPort > endPort)
      return [
        invalidField(path, `expected ports from 1 on, and a start before the end, found ${startPort} to ${endPort}`),
      ]
    const other = ranges.slice(0, index).findIndex((before) => doOverlap(before, range))
    return other === -1 ? [] : [invalidField(path, `overlaps portRanges[${other}]`)]
  })
}

export const doOverlap = (a: PortRange, b: PortRange): boolean => a.startPort <= b.endPort && b.startPort <= a.endPort

/** Undefined if the listener has several. */
export function onlyPort({ portRanges }: Pick<Listener, 'portRanges'>): number | undefined {
  const [range] = portRanges
  return portRanges.length === 1 && range?.startPort === range?.endPort ? range?.startPort : undefined
}

function targetFaults(targets: BalancerBody['targetsConfig'], listener: Listener): readonly ApiError[] {
  const { nicTargets = [], categoryTargets = [] } = targets
  if (nicTargets.length + categoryTargets.length === 0)
    return [invalidField('targetsConfig', 'expected at least one of nicTargets and categoryTargets')]
  const seen = new Set<string>()
  const ofNics = nicTargets.flatMap(({ virtualNicReference, port = onlyPort(listener) }, index) => {
    const path = `targetsConfig/nicTargets[${index}]`
    if (port === undefined) return [invalidField(`${path}/port`, 'is required, because the listener has several ports')]
    const key = `${virtualNicReference} ${port}`
    const isRepeated = seen.has(key)
    seen.add(key)
    return isRepeated
      ? [invalidField(path, `expected each pair of NIC and port once, found port ${port} of it twice`)]
      : []
  })
  const ofCategories = categoryTargets.flatMap(({ matchAll }, index) => {
    const ids = matchAll.map(({ extId }) => extId)
    const path = `targetsConfig/categoryTargets[${index}]/matchAll`
    return new Set(ids).size === ids.length ? [] : [invalidField(path, 'expected each category once')]
  })
  return [...ofNics, ...ofCategories]
}
