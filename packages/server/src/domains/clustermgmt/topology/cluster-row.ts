/** Software fields of a cluster's row. Source: behaviour clustermgmt.md 1.2. */
import { seedId } from '../../../core/ids/named-id.ts'

const healthCheckVersion = '5.2'

export const buildOf = (version: string) => ({
  buildType: 'release',
  version,
  fullVersion: `el8.5-release-${version}-stable`,
  commitId: seedId(`build/${version}`).replaceAll('-', ''),
  shortCommitId: seedId(`build/${version}`).slice(0, 6),
})

export const softwareOf = (clusterExtId: string, version: string) => ({
  clusterArch: 'X86_64' as const,
  clusterType: 'HYPER_CONVERGED' as const,
  buildInfo: buildOf(version),
  clusterSoftwareMap: [
    { softwareType: 'NOS' as const, version },
    { softwareType: 'NCC' as const, version: healthCheckVersion },
  ],
  incarnationId: Number.parseInt(clusterExtId.slice(0, 8), 16),
  isLts: false,
  isPasswordRemoteLoginEnabled: true,
  isRemoteSupportEnabled: false,
  timezone: 'UTC',
  operationMode: 'NORMAL' as const,
})
