/** Models of physical NICs by PCI id, as on the market. Source: behaviour networking.md 1.19, 4. */
import type { NicModel } from '../host-networking.ts'

const models = {
  '8086:1572': {
    description: 'X710 10GbE SFP+',
    speedMbps: 10_000,
    driverVersion: 'i40e 2.26.8',
    firmwareVersion: '9.53',
    capabilities: [],
    virtualFunctions: 0,
  },
  '8086:1593': {
    description: 'E810-C 25GbE SFP28',
    speedMbps: 25_000,
    driverVersion: 'ice 1.14.9',
    firmwareVersion: '4.50',
    capabilities: ['SRIOV'],
    virtualFunctions: 8,
  },
  '15b3:1017': {
    description: 'ConnectX-5 25GbE SFP28',
    speedMbps: 25_000,
    driverVersion: 'mlx5_core 24.07',
    firmwareVersion: '16.35.4030',
    capabilities: ['SRIOV'],
    virtualFunctions: 16,
  },
  '15b3:101d': {
    description: 'ConnectX-6 Dx 100GbE QSFP56',
    speedMbps: 100_000,
    driverVersion: 'mlx5_core 24.07',
    firmwareVersion: '22.41.1000',
    capabilities: ['SRIOV', 'DP_OFFLOAD'],
    virtualFunctions: 32,
  },
} as const satisfies Readonly<Record<string, Omit<NicModel, 'pciModelId'>>>

export type NicModelId = keyof typeof models

export const nicModelIds = Object.keys(models) as NicModelId[]

export const nicModel = (pciModelId: NicModelId): NicModel => ({ pciModelId, ...models[pciModelId] })

/** eth0 to eth5 of a host about which nothing else is known. */
export const defaultNics: readonly NicModelId[] = [
  ...(['8086:1572', '8086:1572', '8086:1572', '8086:1572', '8086:1572'] as const),
  '15b3:1017',
]
