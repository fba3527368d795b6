/** States of guest tools and what each permits, for VMs of every hypervisor. Source: behaviour vmm.md 1.5, 1.7. */
import type { ValueOf } from '@hyperplane/contract'
import type {
  GuestTools,
  GuestToolsInstallConfig,
  GuestToolsUpgradeConfig,
} from '@hyperplane/contract/vmm/vm/guest/guest-tools'
import { ApiError } from '../../../core/api-error.ts'
import { formatTime, parseTime } from '../../../core/time/clock.ts'
import type { GuestSystem } from '../../../drivers/hypervisor.ts'
import { fault } from '../../virtual-machines/fault.ts'

export type Tools = Omit<ValueOf<typeof GuestTools>, '$objectType'>
type InstallBody = ValueOf<typeof GuestToolsInstallConfig>
type UpgradeBody = ValueOf<typeof GuestToolsUpgradeConfig>
export type Capabilities = Tools['capabilities']

export const newestVersion = '4.1'

export interface ToolsOfVm {
  readonly name: string
  /** Undefined: never enabled. */
  readonly tools: Tools | undefined
  readonly isReachable: boolean
}

/** @throws ApiError 409 GUEST_TOOLS_NOT_READY */
export function refuseTools({ name }: Pick<ToolsOfVm, 'name'>, operation: string, reason: string): never {
  throw new ApiError('GUEST_TOOLS_NOT_READY', { name, operation, reason })
}

export function requireInsertable(of: ToolsOfVm, isConfigOnly: boolean): void {
  const isInstalled = of.tools?.isInstalled === true
  if (isInstalled && !isConfigOnly) refuseTools(of, 'insert-iso', 'they are already installed; send isConfigOnly')
  if (!isInstalled && isConfigOnly) refuseTools(of, 'insert-iso', 'they are not installed')
}

export function requireNotInstalled(of: ToolsOfVm): void {
  if (of.tools?.isInstalled === true) refuseTools(of, 'install', 'they are already installed')
}

/** Upgrades, removal, and power through the guest need the tools. */
export function requireReachable(of: ToolsOfVm, operation: string): void {
  if (of.tools?.isInstalled !== true) refuseTools(of, operation, 'they are not installed')
  if (of.tools?.isEnabled === false) refuseTools(of, operation, 'they are disabled')
  if (!of.isReachable) refuseTools(of, operation, 'the guest does not answer')
}

/** @throws ApiError 409 if the tools have the newest version */
export function requireOlder({ name, tools }: ToolsOfVm): void {
  if (tools?.version === newestVersion) throw new ApiError('GUEST_TOOLS_CURRENT', { name, version: newestVersion })
}

export function installFaults({ credential, rebootPreference }: InstallBody): ApiError[] {
  const missing = (['username', 'password'] as const).filter((name) => (credential?.[name] ?? '') === '')
  return [
    ...missing.map((name) => fault(`credential/${name}`, 'the account of an administrator of the guest', undefined)),
    ...rebootFaults({ rebootPreference }),
  ]
}

export function rebootFaults({ rebootPreference: preference }: UpgradeBody): ApiError[] {
  const isMissing = preference?.scheduleType === 'LATER' && preference.schedule?.startTime === undefined
  return isMissing ? [fault('rebootPreference/schedule/startTime', 'a time in the future with LATER', undefined)] : []
}

/** When the guest reboots after the setup. Without a preference it is not rebooted. */
export interface Reboot {
  readonly isImmediate?: true
  readonly at?: string
}

/** @throws ApiError 400 for a time that is not in the future */
export function rebootOf({ rebootPreference: preference }: UpgradeBody, now: number): Reboot {
  if (preference?.scheduleType === 'IMMEDIATE') return { isImmediate: true }
  const at = preference?.scheduleType === 'LATER' ? preference.schedule?.startTime : undefined
  if (at === undefined) return {}
  if ((parseTime(at) ?? 0) <= now) throw fault('rebootPreference/schedule/startTime', 'a time in the future', at)
  return { at }
}

export const withSystem = (
  tools: Tools,
  { version, fullName, buildNumber, dnsName, virtIoVersion }: GuestSystem,
): Tools => ({
  ...tools,
  guestOsVersion: version,
  guestInfo: {
    ...tools.guestInfo,
    guestOsFullName: fullName,
    guestOsBuildNumber: buildNumber,
    dnsName: { value: dnsName },
    installedVirtIoVersion: virtIoVersion,
  },
})

export const installed = (tools: Tools | undefined, capabilities: Capabilities): Tools => {
  const { capabilities: _, ...rest } = tools ?? {}
  return {
    ...rest,
    isEnabled: true,
    isInstalled: true,
    version: newestVersion,
    ...(capabilities === undefined ? {} : { capabilities }),
  }
}

export interface ToolsSeen {
  readonly isReachable: boolean
  readonly isIsoInserted: boolean
  readonly bootedAt?: number | undefined
  readonly system?: GuestSystem | undefined
}

export function shownTools(tools: Tools = {}, { isReachable, isIsoInserted, bootedAt, system }: ToolsSeen): Tools {
  const isInstalled = tools.isInstalled === true
  const observed = isReachable && system !== undefined ? withSystem(tools, system) : tools
  return {
    ...observed,
    availableVersion: newestVersion,
    isInstalled,
    isIsoInserted,
    isReachable,
    isVssSnapshotCapable: isInstalled && tools.capabilities?.includes('VSS_SNAPSHOT') === true,
    ...(isReachable && bootedAt !== undefined
      ? { guestInfo: { ...observed.guestInfo, lastBootUpTime: formatTime(bootedAt) } }
      : {}),
  }
}
