/** Source: specification 5; behaviour volumes-storage.md 2. */
import { names } from '../names.ts'

const storageAdmins = names(`
  Platform Admin, Project Manager, Self-Service Admin (deprecated), Storage Admin, Super Admin
`)

export const volumeProvisioners = [...storageAdmins, 'CSI System', 'Kubernetes Data Services System'] as const

export const volumeAdmins = [...volumeProvisioners, 'Backup Admin'] as const

export const volumeEditors = [...storageAdmins, 'Backup Admin'] as const

export const vmAttachers = [...volumeEditors, 'Virtual Machine Admin'] as const

export const iscsiClientReaders = [...volumeAdmins, 'Platform Viewer', 'Storage Viewer'] as const

export const nvmfClientReaders = [...storageAdmins, 'Platform Viewer', 'Storage Viewer'] as const

export const volumeStatsReaders = [
  ...volumeProvisioners,
  ...names('Disaster Recovery Admin, Disaster Recovery Viewer, Platform Viewer, Storage Viewer'),
] as const

export const volumeReaders = [...iscsiClientReaders, 'Disaster Recovery Admin', 'Disaster Recovery Viewer'] as const
