/** Who may write through this namespace; its reads have the roles of their counterparts. Source: behaviour volumes-storage.md 2. */
export const storageWriters = ['Platform Admin', 'Storage Admin', 'Super Admin'] as const
