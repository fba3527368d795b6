/** Reads have the roles of their counterparts in volumes and clustermgmt. Source: behaviour volumes-storage.md 2. */
export const storageWriters = ['Platform Admin', 'Storage Admin', 'Super Admin'] as const
