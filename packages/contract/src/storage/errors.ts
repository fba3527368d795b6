/** This namespace answers with the errors of volumes and clustermgmt. Source: behaviour volumes-storage.md 1.9. */
export const storageErrors = {} as const
