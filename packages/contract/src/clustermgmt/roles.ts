/** Source: specification 5; behaviour clustermgmt.md 2. */
import { names } from '../names.ts'

export const clusterAdmins = ['Cluster Admin', 'Platform Admin', 'Super Admin'] as const

export const clusterViewers = [...clusterAdmins, 'Cluster Viewer', 'Platform Viewer'] as const

export const clusterReaders = [
  ...clusterViewers,
  ...names(`
    Backup Admin, Consumer, Developer, Kubernetes Admin, LocalAccountManager Admin, LocalAccountManager Viewer,
    Management Connector, Network Infra Admin, Network Policy Admin, Network Policy Author, Network Policy Viewer,
    Project Admin, Project Manager, Self-Service Admin (deprecated), Storage Admin, Storage Viewer, VPC Admin,
    Virtual Machine Admin, Virtual Machine Operator, Virtual Machine Viewer
  `),
] as const

export const hostReaders = [
  ...clusterViewers,
  ...names(`
    Management Connector, Network Infra Admin, Storage Admin, VPC Admin, Virtual Machine Admin, Virtual Machine Operator
  `),
] as const

export const clusterHostReaders = [
  ...clusterViewers,
  ...names(`
    Backup Admin, LocalAccountManager Admin, LocalAccountManager Viewer, Management Connector, Network Infra Admin,
    Project Manager, Self-Service Admin (deprecated), VPC Admin
  `),
] as const

export const deviceReaders = [
  ...clusterHostReaders,
  ...names('Kubernetes Admin, Project Admin, Virtual Machine Admin, Virtual Machine Operator, Virtual Machine Viewer'),
] as const

export const diskReaders = [...clusterViewers, 'Storage Admin', 'Storage Viewer'] as const

export const diskAdmins = [...clusterAdmins, 'Storage Admin'] as const

export const profileReaders = [...clusterViewers, 'Project Manager', 'Self-Service Admin (deprecated)'] as const

export const storageContainerReaders = names(`
  Backup Admin, CSI System, Consumer, Developer, Kubernetes Data Services System, Management Connector, Operator,
  Platform Admin, Platform Viewer, Project Admin, Project Manager, Self-Service Admin (deprecated), Storage Admin,
  Storage Viewer, Super Admin
`)

export const storageContainerAdmins = names(`
  Platform Admin, Project Manager, Self-Service Admin (deprecated), Storage Admin, Super Admin
`)
