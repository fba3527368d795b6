/** Services that own operations and entities, one for each namespace. Source: behaviour iam.md 7. */
import { catalogueId } from '../../../core/ids/named-id.ts'
import { releaseTime } from './release.ts'

const names: Readonly<Record<string, readonly [name: string, displayName: string, description: string]>> = {
  platform: ['Platform', 'Platform', 'Categories, tasks, batches and the domain manager itself.'],
  iam: ['IAM', 'Identity and Access Management', 'Users, keys, roles and authorization policies.'],
  clustermgmt: ['ClusterManagement', 'Cluster Management', 'Clusters, hosts, cluster profiles and storage containers.'],
  networking: ['Networking', 'Networking', 'Subnets, VPCs, gateways, switches and routing.'],
  vmm: ['VirtualMachineManagement', 'Virtual Machine Management', 'Virtual machines, images and templates.'],
  volumes: ['Volumes', 'Volumes', 'Volume groups and the clients that use them.'],
  storage: ['Storage', 'Storage', 'The older interface to volume groups and storage containers.'],
}

export const clientNameOf = (namespace: string): string => names[namespace]?.[0] ?? namespace

export const iamClients = Object.values(names).map(([name, displayName, description]) => ({
  extId: catalogueId('client', name),
  name,
  displayName,
  description,
  deploymentList: ['ONPREM', 'CLOUD'],
  createdBy: '00000000-0000-0000-0000-000000000000',
  createdTime: releaseTime,
  lastUpdatedTime: releaseTime,
}))
